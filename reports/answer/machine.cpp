#include "reports/answer/machine.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

void to_json(json& out, const BoxParts& box) {
  out = {{"gpu", box.gpu},   {"gpus", box.gpus},
         {"host", box.host}, {"host_memory_bytes", box.host_memory_bytes},
         {"drive", nullptr}, {"drives", box.drives}};
  if (!box.drive.empty()) out["drive"] = box.drive;
}

void from_json(const json& in, BoxParts& box) {
  read(in, "gpu", box.gpu);
  read(in, "gpus", box.gpus);
  read(in, "host", box.host);
  read(in, "host_memory_bytes", box.host_memory_bytes);
  read(in, "drive", box.drive);
  read(in, "drives", box.drives);
}

void to_json(json& out, const BoxOffer& offer) {
  out = {{"change", offer.change},       {"words", offer.words}, {"box", offer.box},
         {"price_usd", offer.price_usd}, {"meets", offer.meets}, {"trial", offer.trial}};
}

void from_json(const json& in, BoxOffer& offer) {
  read(in, "change", offer.change);
  read(in, "words", offer.words);
  read(in, "box", offer.box);
  read(in, "price_usd", offer.price_usd);
  read(in, "meets", offer.meets);
  read(in, "trial", offer.trial);
}

void to_json(json& out, const PriceBreak& at) {
  out = {{"part", at.part},
         {"drive", at.drive},
         {"factor", at.factor},
         {"usd", at.usd},
         {"words", at.words}};
}

void from_json(const json& in, PriceBreak& at) {
  read(in, "part", at.part);
  read(in, "drive", at.drive);
  read(in, "factor", at.factor);
  read(in, "usd", at.usd);
  read(in, "words", at.words);
}

void to_json(json& out, const BestMachine& machine) {
  out = {{"schema", "spillway/answer/machine/1"},
         {"list", machine.list},
         {"cards", machine.cards},
         {"tokens_per_day", machine.tokens_per_day},
         {"budget_usd", machine.budget_usd},
         {"answer", or_null(machine.answer)},
         {"neighbours", machine.neighbours},
         {"systems", machine.systems},
         {"runners_up", machine.runners_up},
         {"nearest", or_null(machine.nearest)},
         {"dearer", or_null(machine.dearer)},
         {"more_samples", or_null(machine.more_samples)},
         {"accumulation", machine.accumulation},
         {"whole", machine.whole},
         {"boxes", machine.boxes},
         {"cheaper", machine.cheaper},
         {"ruled_out", machine.ruled_out},
         {"missed", machine.missed},
         {"meeting", machine.meeting},
         {"late_systems", machine.late_systems},
         {"late_missed", machine.late_missed},
         {"late_looks", machine.late_looks},
         {"bounded", machine.bounded},
         {"simulated", machine.simulated},
         {"unanswered", machine.unanswered},
         {"untried", machine.untried},
         {"break_even", machine.break_even},
         {"least_usd", machine.least_usd},
         {"result", or_null(machine.result)},
         {"price_days", machine.price_days},
         {"assumed_prices", machine.assumed_prices},
         {"certainty", machine.certainty},
         {"old_prices", machine.old_prices}};
}

void from_json(const json& in, BestMachine& machine) {
  result::require_schema(in, "answer/machine");
  machine = {};
  read(in, "list", machine.list);
  read(in, "cards", machine.cards);
  read(in, "tokens_per_day", machine.tokens_per_day);
  read(in, "budget_usd", machine.budget_usd);
  read(in, "answer", machine.answer);
  read(in, "neighbours", machine.neighbours);
  read(in, "systems", machine.systems);
  read(in, "runners_up", machine.runners_up);
  read(in, "nearest", machine.nearest);
  read(in, "dearer", machine.dearer);
  read(in, "more_samples", machine.more_samples);
  read(in, "accumulation", machine.accumulation);
  read(in, "whole", machine.whole);
  read(in, "boxes", machine.boxes);
  read(in, "cheaper", machine.cheaper);
  read(in, "ruled_out", machine.ruled_out);
  read(in, "missed", machine.missed);
  read(in, "meeting", machine.meeting);
  read(in, "late_systems", machine.late_systems);
  read(in, "late_missed", machine.late_missed);
  read(in, "late_looks", machine.late_looks);
  read(in, "bounded", machine.bounded);
  read(in, "simulated", machine.simulated);
  read(in, "unanswered", machine.unanswered);
  read(in, "untried", machine.untried);
  read(in, "break_even", machine.break_even);
  read(in, "least_usd", machine.least_usd);
  read(in, "result", machine.result);
  read(in, "price_days", machine.price_days);
  read(in, "assumed_prices", machine.assumed_prices);
  read(in, "certainty", machine.certainty);
  read(in, "old_prices", machine.old_prices);
}

}  // namespace spillway::answer
