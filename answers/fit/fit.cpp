#include "answers/fit/fit.hpp"

#include "answers/fit/change.hpp"
#include "answers/fit/search.hpp"
#include "explore/planning.hpp"
#include "explore/spread.hpp"
#include "scenarios/read_model.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/format.h>

namespace spillway::answers {

using nlohmann::json;

namespace {

constexpr std::uint64_t usual_context = 4096;

json job_of(const FitQuestion& question, std::vector<std::string>& notes) {
  std::uint64_t context = question.context.value_or(usual_context);
  const std::uint64_t longest = scenarios::read_model(question.model).max_positions;
  if (!question.context && longest > 0 && longest < context) {
    context = longest;
    notes.push_back(fmt::format("a sample has {} tokens, the most that the model takes", longest));
  }
  json job = {{"model", question.model},
              {"machine", question.machine},
              {"training", {{"precision", "bf16_mixed"}, {"sequence", context}}},
              {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  if (question.tokens) job["run"]["tokens"] = *question.tokens;
  return job;
}

std::map<std::string, std::uint64_t> peaks_of(const result::Result& result) {
  return {{"gpu", result.gpu.total}, {"host", result.host.total}, {"ssd", result.ssd.total}};
}

/// How far its headline numbers may be off.
void add_range(const explore::Backend& backend, result::Result& result) {
  const auto scenario = scenarios::read_scenario(result.scenario, {}, explore::known_systems(),
                                                 strategies::unsupported)
                            .scenario;
  result.range = explore::range_of(backend, scenario, result, scenario.run.seed);
}

}  // namespace

FitAnswer fit(const explore::Backend& backend, const FitQuestion& question) {
  FitAnswer answer;
  const json job = job_of(question, answer.notes);
  Found found = search(backend, candidates_of(job, question.overrides), question.runnable);
  answer.bounded = found.bounded;
  answer.simulated = found.simulated;
  for (const std::string& one : found.unanswered) answer.notes.push_back("no answer for " + one);
  answer.runnable = std::move(found.runnable);
  answer.best = std::move(found.best);
  answer.fits = answer.answer() != nullptr;
  answer.why_not = found.why_not;
  if (!answer.fits) return answer;
  for (auto* result : {&answer.runnable, &answer.best})
    if (*result) *result = explore::with_what_ifs(backend, std::move(**result));
  answer.needed_bytes = peaks_of(*answer.answer());
  add_range(backend, answer.runnable ? *answer.runnable : *answer.best);
  answer.change =
      best_change(backend, *answer.answer(), answer.runnable.has_value(), answer.simulated);
  return answer;
}

void to_json(json& out, const FitChange& change) {
  out = {{"words", change.words},
         {"set", change.set},
         {"tokens_per_s", nullptr},
         {"price_usd", nullptr}};
  if (change.tokens_per_s) out["tokens_per_s"] = *change.tokens_per_s;
  if (change.price_usd) out["price_usd"] = *change.price_usd;
}

void to_json(json& out, const FitAnswer& answer) {
  out = {{"schema", fit_schema},      {"fits", answer.fits},
         {"needed_bytes", nullptr},   {"why_not", answer.why_not},
         {"runnable", nullptr},       {"best", nullptr},
         {"change", nullptr},         {"notes", answer.notes},
         {"bounded", answer.bounded}, {"simulated", answer.simulated}};
  if (answer.needed_bytes) out["needed_bytes"] = *answer.needed_bytes;
  if (answer.runnable) out["runnable"] = *answer.runnable;
  if (answer.best) out["best"] = *answer.best;
  if (answer.change) out["change"] = *answer.change;
}

}  // namespace spillway::answers
