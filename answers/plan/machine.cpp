#include "answers/plan/machine.hpp"

#include "answers/fit/change.hpp"
#include "answers/plan/changed.hpp"
#include "answers/simulate/simulate.hpp"
#include "explore/boxes/break_even.hpp"
#include "explore/remedies/planning.hpp"
#include "explore/trials/card_splits.hpp"
#include "scenarios/deepspeed/trainer.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <set>

namespace spillway::answers {

using answer::BestMachine;
using explore::BoxNeed;
using explore::BoxSearch;
using explore::Way;
using nlohmann::json;
using scenarios::PriceList;

namespace {

/// A box is cheaper where one between two powers of two is enough: no card has room for a power of
/// two alone.
const std::vector<std::uint64_t> batches_of_boxes = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

/// Splits of layers among the cards of any box, each once whatever its data, and without one.
std::vector<explore::CardSplit> splits_of(const PriceList& list, const Way& way) {
  std::vector<explore::CardSplit> splits = {{}};
  if (!way.splits_layers) return splits;
  std::set<std::uint64_t> counts;
  for (const scenarios::Box& box : boxes_of(list)) counts.insert(box.gpus);
  std::set<std::string> seen;
  for (const std::uint64_t own : counts)
    for (const explore::CardSplit& split : explore::splits_of_layers(1, own))
      if (seen.insert(split.name()).second) splits.push_back(split);
  return splits;
}

/// The way in every micro-batch and accumulation.
///   parts  that it swaps besides
void add_settings(const MachineQuestion& question, const Way& way, const explore::CardSplit& split,
                  const std::vector<std::string>& parts,
                  std::vector<explore::BoxSetting>& settings) {
  explore::BoxSetting setting;
  setting.system = way.name;
  setting.asks_more = !parts.empty();
  setting.overrides = split.of_layers();
  setting.overrides.insert(setting.overrides.begin(), way.overrides.begin(), way.overrides.end());
  setting.overrides.insert(setting.overrides.end(), parts.begin(), parts.end());
  setting.searched = !question.systems.empty() || !way.plans;
  setting.cards = split.tensor * split.pipeline;
  for (const std::uint64_t batch : question.any_batch() ? batches_of_boxes : question.batches)
    for (const std::uint64_t accumulation : question.accumulations) {
      setting.words = fmt::format("{}{}{}, micro-batch {}", way.name, explore::parts_in_name(parts),
                                  split.name(), batch);
      setting.micro_batch = batch;
      setting.accumulation = accumulation;
      settings.push_back(setting);
    }
}

BoxNeed need_of(const MachineQuestion& question) {
  BoxNeed need;
  need.job = {
      {"model", question.model},
      {"training", scenarios::plain_training(question.precision,
                                             sample_tokens(question.sequence, question.model))},
      {"strategy", {{"system", "zero_infinity"}}},
      {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  if (question.tokens) need.job["run"]["tokens"] = *question.tokens;
  json base = need.job;
  if (const auto boxes = boxes_of(question.list); !boxes.empty())
    base["machine"] = machine_of(question.list, boxes.back());
  for (const Way& way : runnable_ways(question, base, question.overrides)) {
    if (!way.beside.empty()) continue;  // a box is searched with each system as it stands
    for (const explore::CardSplit& split : splits_of(question.list, way))
      if (may_run(question, base, way, split.of_layers(), question.overrides))
        add_settings(question, way, split, {}, need.settings);
    std::vector<std::string> all = way.overrides;
    all.insert(all.end(), question.overrides.begin(), question.overrides.end());
    for (const auto& smaller : less_memory_of(base, all, question.overrides))
      add_settings(question, way, {}, smaller.overrides, need.settings);
  }
  need.global_batch = question.global_batch;
  need.overrides = question.overrides;
  need.overrides.insert(need.overrides.end(), question.prices.begin(), question.prices.end());
  need.tokens_per_day = question.tokens_per_day;
  need.budget_usd = question.budget_usd;
  if (question.years > 0) need.years = question.years;
  return need;
}

answer::BoxOffer offer_of(const PriceList& list, const explore::BoxOffer& offer) {
  const scenarios::HostPart& host = list.hosts[offer.box.host];
  answer::BoxOffer out;
  out.change = offer.change;
  out.words = words_of(list, offer.box);
  out.box.gpu = list.gpus[offer.box.gpu].name;
  out.box.gpus = offer.box.gpus;
  out.box.host = host.name;
  out.box.host_memory_bytes = host.memory[offer.box.memory].value();
  if (offer.box.drives > 0) out.box.drive = list.drives[offer.box.drive].name;
  out.box.drives = offer.box.drives;
  out.price_usd = offer.price_usd;
  out.meets = offer.meets;
  out.trial = offer.trial;
  return out;
}

std::vector<answer::BoxOffer> offers_of(const PriceList& list,
                                        const std::vector<explore::BoxOffer>& offers) {
  std::vector<answer::BoxOffer> all;
  for (const explore::BoxOffer& offer : offers) all.push_back(offer_of(list, offer));
  return all;
}

std::optional<answer::BoxOffer> offer_of(const PriceList& list,
                                         const std::optional<explore::BoxOffer>& offer) {
  return offer ? std::optional(offer_of(list, *offer)) : std::nullopt;
}

/// Where the winner changes, by the price of a part of the answer, or of the winner beyond.
std::vector<answer::PriceBreak> breaks_of(const PriceList& list, const BoxSearch& found) {
  std::vector<answer::PriceBreak> all;
  for (const explore::BreakEven& at : break_evens(list, found)) {
    answer::PriceBreak& one = all.emplace_back();
    one.part = at.drives ? "ssd" : "dram";
    one.factor = at.factor;
    one.words = words_of(list, at.box);
    if (at.drives) {
      const scenarios::Box& box = found.answer->box.drives > 0 ? found.answer->box : at.box;
      one.drive = list.drives[box.drive].name;
      one.usd = list.drives[box.drive].price_usd;
    } else {
      const double usd = list.hosts[found.answer->box.host].dram_usd_per_gib;
      one.usd = usd > 0 ? usd : list.hosts[at.box.host].dram_usd_per_gib;
    }
  }
  return all;
}

/// What is said of the box that was found: what limits it, and what its prices rest on.
void complete(const explore::Backend& backend, const MachineQuestion& question,
              const BoxSearch& found, BestMachine& out) {
  explore::Backend patient = backend;  // what was found is to be whole, whatever ended the search
  patient.watch = {};
  out.answer = offer_of(question.list, found.answer);
  if (question.range) add_range(patient, *out.answer->trial.result);
  out.result = explore::with_what_ifs(patient, *out.answer->trial.result);
  out.break_even = breaks_of(question.list, found);
  const auto machine = machine_of(question.list, found.answer->box).get<description::MachineFile>();
  for (const auto& [path, date] : machine.dates)
    if (!date.empty()) out.price_days.push_back(path.substr(path.find('.') + 1) + " of " + date);
  for (const auto& [path, source] : machine.sources)
    if (path.starts_with("prices_usd.") && source.starts_with("assumed"))
      out.assumed_prices.push_back(path.substr(11));
  out.certainty = certainty_without_scenario(*out.result, "");
  out.old_prices = old_prices_words(machine, question.today);
}

/// Of every box that is shown: which of its prices are old.
void date_offers(BestMachine& out, const std::string& today) {
  for (auto* group : {&out.neighbours, &out.systems, &out.runners_up})
    for (answer::BoxOffer& offer : *group)
      if (offer.trial.result) date_prices(*offer.trial.result, today);
  for (auto* offer : {&out.nearest, &out.dearer, &out.more_samples})
    if (*offer && (*offer)->trial.result) date_prices(*(*offer)->trial.result, today);
}

/// What was not searched, where nothing does it.
void add_rest(const MachineQuestion& question, const BoxNeed& need, BestMachine& out) {
  std::set<std::string> untried;
  for (const explore::BoxSetting& setting : need.settings)
    if (!setting.searched) untried.insert(setting.system);
  out.untried.assign(untried.begin(), untried.end());
  if (out.boxes > 0) return;
  out.least_usd = HUGE_VAL;
  for (const scenarios::Box& box : boxes_of(question.list))
    out.least_usd = std::min(out.least_usd, price_of(question.list, box));
}

BestMachine answer_of(const MachineQuestion& question, const BoxSearch& found) {
  BestMachine out;
  out.list = question.list.name;
  for (const auto& card : question.list.gpus) out.cards.push_back(card.name);
  out.tokens_per_day = question.tokens_per_day;
  out.budget_usd = question.budget_usd;
  out.neighbours = offers_of(question.list, found.neighbours);
  out.systems = offers_of(question.list, found.systems);
  out.runners_up = offers_of(question.list, found.runners_up);
  out.nearest = offer_of(question.list, found.nearest);
  out.dearer = offer_of(question.list, found.dearer);
  out.whole = found.whole();
  out.boxes = found.boxes;
  out.cheaper = found.cheaper;
  out.ruled_out = found.ruled_out;
  out.missed = found.missed;
  out.meeting = found.meeting.size();
  out.late_systems = found.late_systems;
  out.late_missed = found.late_missed;
  out.late_looks = found.late_looks;
  out.bounded = found.bounded;
  out.simulated = found.simulated;
  return out;
}

/// A cheaper box, or any, on which what people can run does it with many samples a step.
void add_more_samples(const explore::Backend& backend, const MachineQuestion& question,
                      const BoxSearch& first, const explore::BoxProgress& progress,
                      BestMachine& out) {
  MachineQuestion more = question;
  more.accumulations = {many_micro_batches};
  more.runnable = true;
  constexpr double cent = 0.01;
  if (first.answer) more.budget_usd = first.answer->price_usd - cent;
  if (out.simulated >= more.most) return;
  more.most -= out.simulated;
  BoxNeed need;
  try {
    need = need_of(more);
  } catch (const description::ScenarioError&) {
    return;  // nobody can run what is asked for
  }
  const BoxSearch found = find_box(backend, more.list, need, more.most, progress);
  out.bounded += found.bounded;
  out.simulated += found.simulated;
  out.more_samples = offer_of(more.list, found.answer);
  if (out.more_samples) out.accumulation = many_micro_batches;
}

}  // namespace

MachineFound machine(const explore::Backend& backend, const MachineQuestion& question,
                     const std::function<void(double price_usd)>& progress) {
  const BoxNeed need = need_of(question);
  std::uint64_t unanswered = 0;
  const explore::Backend counted = explore::counting(backend, unanswered);
  const explore::BoxProgress looked_at = [&progress](double price_usd, std::uint64_t) {
    if (progress) progress(price_usd);
  };
  BoxSearch found = find_box(counted, question.list, need, question.most, looked_at);
  std::vector<answer::Trial*> shown;
  for (auto* group : {&found.systems, &found.neighbours, &found.runners_up})
    for (explore::BoxOffer& offer : *group) shown.push_back(&offer.trial);
  find_needs(backend, need.job, shown);
  MachineFound all{answer_of(question, found), nullptr};
  if (question.one_micro_batch()) add_more_samples(counted, question, found, looked_at, all.answer);
  all.answer.unanswered = unanswered;
  date_offers(all.answer, question.today);
  if (found.answer) {
    complete(backend, question, found, all.answer);
    for (auto* result : {&*all.answer.result, &*all.answer.answer->trial.result})
      date_prices(*result, question.today);
    all.machine = machine_of(question.list, found.answer->box);
  } else {
    add_rest(question, need, all.answer);
    if (const auto& near = found.nearest ? found.nearest : found.dearer; near && near->trial.result)
      all.answer.certainty.trainer =
          scenarios::assumed_of_trainer(explore::scenario_of(*near->trial.result));
  }
  return all;
}

}  // namespace spillway::answers
