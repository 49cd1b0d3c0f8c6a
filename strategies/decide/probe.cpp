#include "strategies/decide/probe.hpp"

namespace spillway::strategies {

Peaks peaks_with(const Probe& probe, description::Scenario scenario, const Prepared& prepared,
                 const ActivationPlan& fates, GpuLimit limit) {
  scenario.machine.host.memory = description::Bytes(0);  // unlimited: what it would take
  if (limit == GpuLimit::none) scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  scenario.run.warmup_steps = 0;
  scenario.run.steps = 1;
  scenario.run.checkpoint = false;
  return probe({scenario, prepared, fates});
}

}  // namespace spillway::strategies
