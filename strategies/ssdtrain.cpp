#include "strategies/systems.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on the GPU; what blocks save for backward goes to SSD
/// while later blocks compute, straight from GPU memory, and comes back just before its backward.
///   Source  SSDTrain, sections III-A to III-C; workers, planned step and cancelling are its
///           artifact's; prefetching by layers is fitted, 2^20 elements our reading of Algorithm 1
description::Strategy ssdtrain_defaults() {
  description::Strategy strategy;
  strategy.system = "ssdtrain";
  strategy.weights.home = description::Home::gpu;
  strategy.activations.policy = description::ActivationPolicy::tensor_cache;
  strategy.activations.homes = {"ssd"};
  strategy.gradients.policy = description::GradientPolicy::resident;
  strategy.gradients.accumulation = description::Width::fp16;
  strategy.gradients.reduce_bucket = description::Params(0);
  strategy.optimizer.device = description::OptimizerDevice::gpu;
  strategy.optimizer.home = description::Home::gpu;
  strategy.overflow_check = description::OverflowCheck::none;
  strategy.pinned = description::PinnedPolicy::exact;
  strategy.io_engine = description::IoEngine::gds;
  strategy.gpu_allocator = description::GpuAllocator::exact;
  strategy.further = {{"activations.keep_last", "\"module\""},
                      {"activations.prefetch", "\"layer\""},
                      {"activations.min_elements", "1048576"},
                      {"activations.store_workers", "1"},
                      {"activations.load_workers", "1"},
                      {"activations.forwarding", "true"},
                      {"activations.cancel", "\"behind_budget\""},
                      {"activations.deduplicate", "true"},
                      {"activations.skip", "[\"loss\",\"head\",\"model\"]"},
                      {"activations.profile_step", "2"},
                      {"activations.write_rate", "\"measured\""}};
  return strategy;
}

}  // namespace spillway::strategies
