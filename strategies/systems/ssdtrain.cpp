#include "strategies/planner/saved/cache_budget.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on the GPU; what blocks save for backward goes to SSD
/// while later blocks compute, straight from GPU memory, and comes back just before its backward.
///   Stages  of a pipeline: each micro-batch under way has a record of its own. The last module
///           stays where the backward follows its forward at once; else it comes back behind the
///           end of the pass before
///   Source  SSDTrain, sections III-A to III-C and Fig. 2; workers, planned step, cancelling and
///           when the last module is asked for are its artifact's; prefetching by layers is fitted,
///           2^20 elements our reading of Algorithm 1
System ssdtrain() {
  System system;
  system.name = "ssdtrain";
  system.summary = "activations to SSD through a cache of tensors; all else on the GPU";
  system.source = "SSDTrain (see its section III)";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("resident");
    strategy.system = "ssdtrain";
    strategy.activations.policy = description::ActivationPolicy::tensor_cache;
    strategy.activations.homes = {"ssd"};
    strategy.gradients.memory = description::GradientMemory::at_start;
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.io_engine = description::IoEngine::gds;
    strategy.gpu_allocator = description::GpuAllocator::exact;
    set_cache_defaults(strategy);
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
