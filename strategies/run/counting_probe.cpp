#include "strategies/run/counting_probe.hpp"

#include "strategies/counting/counting_machine.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/decide/tensors.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/run/run.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace spillway::strategies {

namespace {

/// Micro-batches that hold as much as any number of them: a first one, one that adds to gradients
/// and one before an update, while as many are under way as the pipeline has stages. The plan of a
/// whole step is of all of them, and so is what GPipe keeps, whose backward passes come last.
std::uint64_t telling_micro_batches(const description::Scenario& scenario) {
  const std::uint64_t all = scenario.training.gradient_accumulation;
  if (plans_steps(scenario.strategy.system) ||
      scenario.strategy.micro_batches == description::MicroBatchOrder::by_layer)
    return all;
  const std::uint64_t stages = scenario.parallel.pipeline;
  if (scenario.parallel.schedule == description::PipelineSchedule::gpipe && stages > 1) return all;
  // pieces go in groups of as many micro-batches as there are stages, of which two are under way
  if (scenario.parallel.pieces() > 1) return std::min(all, 3 * stages);
  if (scenario.parallel.splits_backward()) return std::min(all, 2 * stages + 2);
  return std::min(all, stages + 2);
}

/// The candidate as a decision that lives no longer than it.
Decision decision_of(const Candidate& candidate) {
  Decided all;
  all.scenario = candidate.scenario;
  all.scenario.training.gradient_accumulation = telling_micro_batches(candidate.scenario);
  all.prepared = std::shared_ptr<const Prepared>(std::shared_ptr<void>(), &candidate.prepared);
  all.tensors = decide_tensors(candidate.scenario, candidate.prepared);
  all.fates = candidate.fates;
  return Decision(std::move(all));
}

/// Where nobody waits for host memory, and nothing is said of it, one rank stands for all that are
/// alike.
MachineSetup setup_for(const Candidate& candidate, const description::Scenario& scenario) {
  return setup_for(scenario, false, false, candidate.only_fits ? Fold::equals : Fold::nothing);
}

Peaks count(const Candidate& candidate) {
  const Decision decision = decision_of(candidate);
  CountingMachine machine(setup_for(candidate, decision->scenario));
  if (candidate.grows)
    machine.let_tiers_grow();
  else
    machine.trust_order();
  const result::Result counted = run(machine, decision, "counting");
  Peaks peaks{counted.feasible(), counted.gpu.total, counted.host.total};
  for (const result::PeakEntry& entry : counted.host.entries)
    if (entry.purpose == to_string(result::Purpose::optimizer_swap_buffers)) {
      peaks.swap_buffers += entry.count;
      peaks.swap_buffer_bytes = entry.charged_bytes;
    }
  if (counted.feasible())
    peaks.subgroups = counted.optimizer_states ? counted.optimizer_states->subgroups : 0;
  return peaks;
}

}  // namespace

Probe counting_probe() { return count; }

namespace {

/// What has been counted.
struct Counted {
  nlohmann::json scenario;
  ActivationPlan fates;
  bool grows = false, only_fits = false;
  Peaks peaks;
};

/// Without what only planners and times look at. A cache of activations takes its bytes from it.
nlohmann::json what_counts(description::Scenario scenario) {
  scenario.machine.host.adam = {};
  scenario.machine.host.convert = {};
  if (scenario.strategy.activations.policy == description::ActivationPolicy::swap)
    scenario.strategy.activations.swap_bytes.reset();
  return scenario;
}

}  // namespace

Probe remembering_probe() {
  const auto known = std::make_shared<std::vector<Counted>>();
  return [known](const Candidate& candidate) {
    nlohmann::json scenario = what_counts(candidate.scenario);
    for (const Counted& one : *known)
      if (one.grows == candidate.grows && one.only_fits == candidate.only_fits &&
          one.fates == candidate.fates && one.scenario == scenario)
        return one.peaks;
    known->push_back({std::move(scenario), candidate.fates, candidate.grows, candidate.only_fits,
                      count(candidate)});
    return known->back().peaks;
  };
}

}  // namespace spillway::strategies
