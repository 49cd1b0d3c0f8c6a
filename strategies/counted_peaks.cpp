#include "strategies/counted_peaks.hpp"

#include "strategies/counting/counting_machine.hpp"
#include "strategies/run.hpp"

namespace spillway::strategies {

CountedPeaks counted_peaks(description::Scenario scenario, const models::Model& model,
                           const models::StepProgram& program, const ActivationPlan& activations,
                           GpuLimit limit) {
  scenario.machine.host.memory = description::Bytes(0);  // unlimited: what it would take
  if (limit == GpuLimit::none) scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  scenario.run.warmup_steps = 0;
  scenario.run.steps = 1;
  scenario.run.checkpoint = false;
  const Prepared prepared{model, program, activations};
  CountingMachine machine(scenario);
  machine.trust_order();
  const result::Result counted = run(machine, scenario, prepared, "counting");
  return {counted.feasible(), counted.gpu.total, counted.host.total};
}

}  // namespace spillway::strategies
