#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states on SSD, host memory as a buffer: ZeRO-3 with NVMe
/// offload. Weights pass through a monolithic pool of pinned buffers, states through sub-groups and
/// swap buffers.
///   Source  ZeRO-Infinity (SC'21); DeepSpeed stage3.py, swap_tensor/; MemAscend section II
System zero_infinity() {
  System system;
  system.name = "zero_infinity";
  system.summary = "weights, gradients and optimizer states on SSD, Adam on the CPU";
  system.source = "ZeRO-Infinity (SC'21); DeepSpeed ZeRO-3 with NVMe offload";
  system.program = Program::deepspeed;
  system.schedule = Schedule::streaming;
  system.has_versions = true;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "zero_infinity";
    strategy.weights.home = description::Home::ssd;
    strategy.weights.hooks = true;
    strategy.weights.pool = description::PoolKind::monolithic;
    strategy.weights.persistence_threshold = description::Params(100'000);
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::ssd_fp32;
    strategy.gradients.norm = description::GradientNorm::fp64;
    strategy.gradients.staging_buffer = true;
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::ssd;
    strategy.optimizer.buffers = 4;
    strategy.optimizer.host_cache = description::Bytes(0);
    strategy.optimizer.unscale = true;
    strategy.overflow_check = description::OverflowCheck::chained;
    strategy.pinned = description::PinnedPolicy::power_of_two;
    strategy.io_engine = description::IoEngine::file;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
