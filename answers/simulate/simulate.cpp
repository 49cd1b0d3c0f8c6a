#include "answers/simulate/simulate.hpp"

#include "explore/remedies/more_memory.hpp"
#include "explore/remedies/remedies.hpp"
#include "explore/trials/spread.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/document/offers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cmath>

namespace spillway::answers {

using description::Scenario;

namespace {

/// In a child, which a limit or Ctrl-C ends, or, with a trace, which may be large, in this process.
std::optional<result::Result> result_of(const explore::Backend& backend, const Scenario& scenario,
                                        const SimulateQuestion& question) {
  const explore::Effort effort{explore::WhenFull::find_need, true, question.decision};
  if (question.trace) return explore::simulate(backend, scenario, question.trace, effort);
  explore::Outcome outcome =
      explore::simulate_all(backend, std::span(&scenario, 1), 1, HUGE_VAL, effort).front();
  if (outcome.not_tried) return std::nullopt;
  return explore::result_of(outcome);
}

}  // namespace

std::optional<answer::Simulation> simulate(const explore::Backend& backend,
                                           const SimulateQuestion& question) {
  const Scenario& scenario = question.scenario.scenario;
  // children first: they start from a process in which nothing was simulated yet
  std::map<std::string, result::WhatIf> next = explore::what_next(backend, scenario);
  if (!backend.goes_on()) return std::nullopt;
  if (question.begin_run) question.begin_run();
  std::optional<result::Result> result = result_of(backend, scenario, question);
  if (!result) return std::nullopt;
  answer::Simulation simulation;
  simulation.result = std::move(*result);
  result::add_what_ifs(simulation.result, std::move(next));
  if (question.range) {
    explore::Backend patient = backend;
    patient.watch = {};
    simulation.result.range =
        explore::range_of(patient, scenario, simulation.result, scenario.run.seed);
  }
  for (const scenarios::Setting& one : question.scenario.settings())
    simulation.settings.push_back({one.path, one.value, one.source});
  simulation.what_ifs = answer::what_ifs_of(simulation.result);
  simulation.warnings = question.scenario.warnings;
  simulation.old_prices = old_prices_words(scenario.machine, question.today);
  date_prices(simulation.result, question.today);
  return simulation;
}

answer::Remedies find_remedies(const explore::Backend& asked, const Scenario& scenario,
                               const result::Result& result, const explore::Resolve& resolve,
                               const std::function<void(const answer::Remedy&)>& on_memory) {
  answer::Remedies remedies;
  const explore::Backend backend = explore::counting(asked, remedies.unanswered);
  remedies.memory = explore::more_memory(backend, scenario, result, resolve);
  if (remedies.memory && remedies.memory->result.gpu.capacity > result.gpu.capacity)
    if (auto own = explore::more_memory_beside_its_cards(backend, scenario, resolve))
      remedies.memory = std::move(own);
  if (remedies.memory && on_memory) on_memory(*remedies.memory);
  explore::FittingChanges changes = explore::fitting_changes(
      backend, scenario, resolve, remedies.memory ? remedies.memory->result.tokens_per_s : 0);
  remedies.change = std::move(changes.best);
  if (remedies.change && !remedies.change->result.runs_with->runnable)
    remedies.runnable = std::move(changes.runnable);
  remedies.whole = backend.goes_on();
  return remedies;
}

bool needs_remedy(const Scenario& scenario, const result::Result& result) {
  return !result.feasible() && !scenario.run.io_bench;
}

std::string old_prices_words(const description::MachineFile& machine, const std::string& today) {
  std::vector<std::string> old;
  for (const auto& [name, date] : scenarios::old_prices(machine, today))
    old.push_back(fmt::format("{} ({})", name, date));
  if (today.empty() || old.empty()) return "";
  return fmt::format("More than a year old: the prices of {}; --price gives today's.",
                     fmt::join(old, ", "));
}

void date_prices(result::Result& result, const std::string& today) {
  result.old_prices.clear();
  if (!result.price_usd || today.empty()) return;
  for (const auto& [name, date] :
       scenarios::old_prices(result.scenario.at("machine").get<description::MachineFile>(), today))
    if (name != "kwh" && name != "gpu_hour") result.old_prices[name] = date;
}

}  // namespace spillway::answers
