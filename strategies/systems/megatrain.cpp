#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, gradients and Adam's states in host memory. Layers come to the GPU one ahead of the one
/// that runs; each four blocks share a checkpoint on the GPU, and backward runs them again. A
/// block's gradients come down into one of twelve slabs, from which the CPU adds them up; its Adam
/// follows backward.
///   Masters   none with `training.precision` bf16, as its code trains: 2 B of weights, 2 of
///             gradients and 8 of moments a parameter. In mixed precision there are 4 more
///   Differs   layers are sent from pinned memory; its code copies each into one of two pinned
///             buffers first, and again on the GPU. Embedding and head stream like blocks; there
///             they stay on the GPU. Four blocks are 'assumed' where a scenario says nothing
///   Source    MegaTrain (arXiv 2604.05091); its code, infinity/model/cpu_master.py
System megatrain() {
  System system;
  system.name = "megatrain";
  system.summary =
      "all weights and states in host memory, layers streamed through the GPU, blocks run again "
      "from shared checkpoints, Adam on the CPU";
  system.source = "MegaTrain (arXiv 2604.05091)";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "megatrain";
    strategy.weights.home = description::Home::host;
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.activations.checkpoint_every = 4;
    strategy.gradients.policy = description::GradientPolicy::host_fp16;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.convert = description::ConvertOn::cpu;
    strategy.gradients.slabs = 12;
    strategy.gradients.reduce_bucket = description::Params(0);
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::host;
    strategy.optimizer.grouping = description::Grouping::model_order;
    strategy.optimizer.master = description::MasterKept::weight;
    strategy.optimizer.widen_first = false;
    strategy.overflow_check = description::OverflowCheck::none;
    strategy.pinned = description::PinnedPolicy::exact;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
