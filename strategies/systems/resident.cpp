#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Everything on the GPU: what all offloading systems are compared with. Data parallelism with ZeRO
/// stages 0-3 and tensor parallelism; activations kept or, with `checkpoint_gpu`, recomputed block
/// by block. Gradients come and go as PyTorch's own do; with `gradients.memory` at_start all have
/// one buffer, as in Megatron-LM.
///   Source  Megatron-LM (arXiv 1909.08053), ZeRO (SC'20) sections 5 and 7
System resident() {
  System system;
  system.name = "resident";
  system.summary = "everything on the GPU; keep or recompute activations";
  system.source = "Megatron-LM (arXiv 1909.08053); ZeRO (SC'20)";
  system.program = Program::trainer;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "resident";
    strategy.weights.home = description::Home::gpu;
    strategy.activations.policy = description::ActivationPolicy::keep;
    strategy.gradients.policy = description::GradientPolicy::resident;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.reduce_bucket = description::Params(0);
    strategy.gradients.memory = description::GradientMemory::in_backward;
    strategy.optimizer.device = description::OptimizerDevice::gpu;
    strategy.optimizer.home = description::Home::gpu;
    strategy.overflow_check = description::OverflowCheck::none;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
