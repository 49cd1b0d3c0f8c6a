#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on the GPU; what its memory has no room for of the
/// activations goes to host memory and back or is computed again, whichever costs less in a step
/// that was measured. Any schedule that streams layers can have the planner (`activations.planner`
/// capuchin), which sees no traffic of weights and states.
///   Differs   the first step is not run to be measured: kernels take what the machine's rates say;
///             a tensor is asked back a layer ahead, not at a tensor access
///   Source    Capuchin (ASPLOS'20), sections 4 and 5; LoHan, section V-A (LoHan+Cap)
System capuchin() {
  System system;
  system.name = "capuchin";
  system.summary = "activations kept, swapped to host memory or recomputed, by measured cost";
  system.source = "Capuchin (ASPLOS'20), as LoHan's baseline";
  system.program = Program::none;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("resident");
    strategy.system = "capuchin";
    strategy.activations.policy = description::ActivationPolicy::plan;
    strategy.activations.homes = {"host"};
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.gpu_allocator = description::GpuAllocator::exact;
    strategy.activations.planner = description::ActivationPlanner::capuchin;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
