#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on the GPU; as many saved tensors as make the rest fit
/// go to SSD straight from GPU memory, the first made first, and come back as early as there is
/// room. Where the machine has no GPUDirect Storage they pass two pinned buffers; `io_engine: file`
/// is LoHan's prototype, which has POSIX calls.
///   Source  FlashNeuron (FAST'21): offloading scheduler, phase 1 for what is not sparse; LoHan,
///           section III-A
System flashneuron() {
  System system;
  system.name = "flashneuron";
  system.summary =
      "activations to SSD until the rest fits, straight from the GPU, or by POSIX calls (file)";
  system.source = "FlashNeuron (FAST'21), as LoHan's baseline";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("resident");
    strategy.system = "flashneuron";
    strategy.activations.policy = description::ActivationPolicy::plan;
    strategy.activations.homes = {"ssd"};
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.gpu_allocator = description::GpuAllocator::exact;
    strategy.io_engine = description::IoEngine::gds;
    strategy.activations.planner = description::ActivationPlanner::flashneuron;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
