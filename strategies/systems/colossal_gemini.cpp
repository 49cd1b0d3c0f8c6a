#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// 16-bit weights in host memory, in chunks of one size that a layer brings to the GPU whole and
/// Belady's rule sends away; gradients take their place; states on SSD, read, updated and written
/// one sub-group after the other. Checkpoints stay on the GPU.
///   Differs   the order of layers is known, so no warm-up step records it; room for idle chunks is
///             one number for the step (`weights.chunk_cache` auto: what a counting run leaves); no
///             loss scale's overflow check, as with gradients in their weights' place no step can
///             be skipped
///   Buffered  TensorNVMe opens its one file without O_DIRECT (csrc/offload.cpp)
///   Source    ColossalAI 0.3.5 with Gemini and TensorNVMe, as LoHan's baseline; PatrickStar (arXiv
///             2108.05818) for chunks whose gradients replace weights. Serial I/O and fp32 weights
///             in host memory while it starts are 'assumed'
System colossal_gemini() {
  System system;
  system.name = "colossal_gemini";
  system.summary =
      "weights in host memory by chunks, gradients in their place, states on SSD, all in turn";
  system.source = "ColossalAI 0.3.5, Gemini (PatrickStar, arXiv 2108.05818), as LoHan's baseline";
  system.program = Program::colossal_ai;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "colossal_gemini";
    strategy.weights.home = description::Home::host;
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::host_fp16;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.convert = description::ConvertOn::cpu;
    strategy.gradients.reduce_bucket = description::Params(0);
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::ssd;
    strategy.optimizer.order = description::SubgroupOrder::ascending;
    strategy.optimizer.grouping = description::Grouping::model_order;
    strategy.optimizer.subgroup = description::Params(1u << 25);  // the least chunk
    strategy.optimizer.buffers = 3;                               // one sub-group at a time
    strategy.optimizer.host_cache = description::Bytes(0);
    strategy.overflow_check = description::OverflowCheck::none;
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.io_engine = description::IoEngine::buffered;
    strategy.weights.chunk.emplace();
    strategy.weights.chunk_cache.emplace();
    strategy.optimizer.widen_first = false;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
