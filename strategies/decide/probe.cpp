#include "strategies/decide/probe.hpp"

namespace spillway::strategies {

namespace {

/// One step of it, in host memory without end.
void ask_for_a_step(description::Scenario& scenario) {
  scenario.machine.host.memory = description::Bytes(0);
  scenario.run.warmup_steps = 0;
  scenario.run.steps = 1;
  scenario.run.checkpoint = false;
}

}  // namespace

Peaks peaks_with(const Probe& probe, description::Scenario scenario, const Prepared& prepared,
                 const ActivationPlan& fates) {
  ask_for_a_step(scenario);
  scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  return probe({scenario, prepared, fates});
}

bool fits_gpus(const Probe& probe, description::Scenario scenario, const Prepared& prepared,
               const ActivationPlan& fates) {
  ask_for_a_step(scenario);
  return probe({.scenario = scenario, .prepared = prepared, .fates = fates, .only_fits = true})
      .fits;
}

}  // namespace spillway::strategies
