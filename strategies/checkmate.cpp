#include "strategies/systems.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on the GPU; which saved tensors stay and which are made
/// again is the solution of a mixed-integer program for one block, repeated. With
/// `activations.homes: ["host"]` it may also send them to host memory (LoHan+CM). Any schedule that
/// streams layers can have the planner (`activations.planner` checkmate).
///   Source  Checkmate (MLSys'20), section 4; LoHan, section V-A (LoHan+CM), whose program is not
///           published: copies in host memory are ours ('assumed')
description::Strategy checkmate_defaults() {
  description::Strategy strategy;
  strategy.system = "checkmate";
  strategy.weights.home = description::Home::gpu;
  strategy.activations.policy = description::ActivationPolicy::plan;
  strategy.gradients.policy = description::GradientPolicy::resident;
  strategy.gradients.accumulation = description::Width::fp16;
  strategy.gradients.reduce_bucket = description::Params(0);
  strategy.optimizer.device = description::OptimizerDevice::gpu;
  strategy.optimizer.home = description::Home::gpu;
  strategy.overflow_check = description::OverflowCheck::none;
  strategy.pinned = description::PinnedPolicy::exact;
  strategy.gpu_allocator = description::GpuAllocator::exact;
  strategy.further = {{"activations.planner", "\"checkmate\""},
                      {"activations.node_limit", "100000"},
                      {"activations.gap", "0.0"},
                      {"activations.time_limit", "\"none\""}};
  return strategy;
}

}  // namespace spillway::strategies
