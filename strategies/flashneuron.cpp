#include "strategies/systems.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on the GPU; as many saved tensors as make the rest fit
/// go to SSD straight from GPU memory, the first made first, and come back as early as there is
/// room. Where the machine has no GPUDirect Storage they pass two pinned buffers; `io_engine: file`
/// is LoHan's prototype, which has POSIX calls.
///   Source  FlashNeuron (FAST'21): offloading scheduler, phase 1 for what is not sparse; LoHan,
///           section III-A
description::Strategy flashneuron_defaults() {
  description::Strategy strategy = resident_defaults();
  strategy.system = "flashneuron";
  strategy.activations.policy = description::ActivationPolicy::plan;
  strategy.activations.homes = {"ssd"};
  strategy.pinned = description::PinnedPolicy::exact;
  strategy.gpu_allocator = description::GpuAllocator::exact;
  strategy.io_engine = description::IoEngine::gds;
  strategy.activations.planner = description::ActivationPlanner::flashneuron;
  return strategy;
}

}  // namespace spillway::strategies
