#include "reports/answer/trial.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

const Trial* fastest(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials)
    if (trial.fits() && (!best || trial.result->tokens_per_s > best->result->tokens_per_s))
      best = &trial;
  return best;
}

void to_json(json& out, const Trial& trial) {
  out = {{"words", trial.words},
         {"set", trial.overrides},
         {"ruled_out", trial.ruled_out},
         {"refused", trial.refused},
         {"not_tried", trial.not_tried},
         {"unanswered", trial.unanswered},
         {"most_tokens_per_s", or_null(trial.most_tokens_per_s)},
         {"result", or_null(trial.result)}};
  put(out, "reason", trial.reason);
}

void from_json(const json& in, Trial& trial) {
  read(in, "words", trial.words);
  read(in, "set", trial.overrides);
  read(in, "reason", trial.reason);
  read(in, "ruled_out", trial.ruled_out);
  read(in, "refused", trial.refused);
  read(in, "not_tried", trial.not_tried);
  read(in, "unanswered", trial.unanswered);
  read(in, "most_tokens_per_s", trial.most_tokens_per_s);
  read(in, "result", trial.result);
}

void to_json(json& out, const TrialCounts& counts) {
  out = {{"bounded", counts.bounded},
         {"ruled_out", counts.ruled_out},
         {"simulated", counts.simulated},
         {"not_tried", counts.not_tried},
         {"unanswered", counts.unanswered}};
}

void from_json(const json& in, TrialCounts& counts) {
  read(in, "bounded", counts.bounded);
  read(in, "ruled_out", counts.ruled_out);
  read(in, "simulated", counts.simulated);
  read(in, "not_tried", counts.not_tried);
  read(in, "unanswered", counts.unanswered);
}

void to_json(json& out, const Certainty& certainty) {
  out = {{"assumed", certainty.assumed}, {"machine", certainty.machine}};
  put(out, "trainer", certainty.trainer);
}

void from_json(const json& in, Certainty& certainty) {
  read(in, "assumed", certainty.assumed);
  read(in, "machine", certainty.machine);
  read(in, "trainer", certainty.trainer);
}

}  // namespace spillway::answer
