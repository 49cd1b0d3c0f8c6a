#include "strategies/planner/saved/checkmate_milp.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on the GPU; which saved tensors stay and which are made
/// again is the solution of a mixed-integer program for one block, repeated. With
/// `activations.homes: ["host"]` it may also send them to host memory (LoHan+CM). Any schedule that
/// streams layers can have the planner (`activations.planner` checkmate).
///   Source  Checkmate (MLSys'20), section 4; LoHan, section V-A (LoHan+CM), whose program is not
///           published: copies in host memory are ours ('assumed')
System checkmate() {
  System system;
  system.name = "checkmate";
  system.summary =
      "activations kept or recomputed, and to host memory on request, by an integer program";
  system.source = "Checkmate (MLSys'20), as LoHan's baseline";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("resident");
    strategy.system = "checkmate";
    strategy.activations.policy = description::ActivationPolicy::plan;
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.gpu_allocator = description::GpuAllocator::exact;
    strategy.activations.planner = description::ActivationPlanner::checkmate;
    strategy.activations.node_limit = checkmate_node_limit;
    strategy.activations.gap = 0.0;
    strategy.activations.time_limit.emplace();
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
