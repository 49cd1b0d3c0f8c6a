#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights on the GPUs, optimizer states on all storages that a node reaches at once. Gradients
/// stay 16-bit in host memory until their update, sub-groups alternate in order so that the last of
/// one step are the first of the next, and one rank of a node at a time uses a storage.
///   Source  MLP-Offload, section 3.2: multi-path, atomic reads and writes, caching, delayed
///           gradient conversion
System mlp_offload() {
  System system;
  system.name = "mlp_offload";
  system.summary = "optimizer states over several storage paths, sub-groups cached in host memory";
  system.source = "MLP-Offload (SC'25)";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "mlp_offload";
    strategy.weights.home = description::Home::gpu;
    strategy.weights.hooks = true;
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::host_fp16;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.convert = description::ConvertOn::cpu;
    strategy.gradients.pinned = description::PinnedPolicy::exact;
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::ssd;
    strategy.optimizer.order = description::SubgroupOrder::alternating;
    strategy.optimizer.grouping = description::Grouping::model_order;
    strategy.optimizer.fused_tensors = true;
    strategy.optimizer.paths["*"] = std::nullopt;
    strategy.optimizer.tier_lock = true;
    strategy.optimizer.pipeline_read = true;
    strategy.optimizer.pipeline_write = true;
    strategy.overflow_check = description::OverflowCheck::chained;
    strategy.pinned = description::PinnedPolicy::power_of_two;
    strategy.io_engine = description::IoEngine::direct;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
