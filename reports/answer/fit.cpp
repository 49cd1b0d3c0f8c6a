#include "reports/answer/fit.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

void to_json(json& out, const FitChange& change) {
  out = {{"words", change.words},
         {"set", change.set},
         {"tokens_per_s", or_null(change.tokens_per_s)},
         {"price_usd", or_null(change.price_usd)},
         {"outlay_usd", or_null(change.outlay_usd)},
         {"more_samples", or_null(change.more_samples)}};
}

void from_json(const json& in, FitChange& change) {
  read(in, "words", change.words);
  read(in, "set", change.set);
  read(in, "tokens_per_s", change.tokens_per_s);
  read(in, "price_usd", change.price_usd);
  read(in, "outlay_usd", change.outlay_usd);
  read(in, "more_samples", change.more_samples);
}

void to_json(json& out, const FitNeed& need) {
  out = {{"words", need.words},
         {"runs_with", or_null(need.runs_with)},
         {"needed_bytes", need.needed_bytes},
         {"has_bytes", need.has_bytes}};
  put(out, "why_not", need.why_not);
}

void from_json(const json& in, FitNeed& need) {
  read(in, "words", need.words);
  read(in, "runs_with", need.runs_with);
  read(in, "needed_bytes", need.needed_bytes);
  read(in, "has_bytes", need.has_bytes);
  read(in, "why_not", need.why_not);
}

void to_json(json& out, const FitAnswer& answer) {
  out = {{"schema", "spillway/answer/fit/1"},
         {"fits", answer.fits},
         {"needed_bytes", or_null(answer.needed_bytes)},
         {"needs", answer.needs},
         {"runnable", or_null(answer.runnable)},
         {"best", or_null(answer.best)},
         {"runnable_way", answer.runnable_way},
         {"best_way", answer.best_way},
         {"change", or_null(answer.change)},
         {"more_samples", or_null(answer.more_samples)},
         {"fused_loss", or_null(answer.fused_loss)},
         {"price_usd", or_null(answer.price_usd)},
         {"untried", answer.untried},
         {"bounded", answer.bounded},
         {"simulated", answer.simulated},
         {"whole", answer.whole},
         {"unanswered", answer.unanswered}};
  put(out, "why_not", answer.why_not);
  put(out, "notes", answer.notes);
}

void from_json(const json& in, FitAnswer& answer) {
  result::require_schema(in, "answer/fit");
  answer = {};
  read(in, "fits", answer.fits);
  read(in, "needed_bytes", answer.needed_bytes);
  read(in, "why_not", answer.why_not);
  read(in, "needs", answer.needs);
  read(in, "runnable", answer.runnable);
  read(in, "best", answer.best);
  read(in, "runnable_way", answer.runnable_way);
  read(in, "best_way", answer.best_way);
  read(in, "change", answer.change);
  read(in, "more_samples", answer.more_samples);
  read(in, "fused_loss", answer.fused_loss);
  read(in, "price_usd", answer.price_usd);
  read(in, "untried", answer.untried);
  read(in, "notes", answer.notes);
  read(in, "bounded", answer.bounded);
  read(in, "simulated", answer.simulated);
  read(in, "whole", answer.whole);
  read(in, "unanswered", answer.unanswered);
}

}  // namespace spillway::answer
