#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, masters and Adam's states in host memory. A window of layers is on the GPU; the CPU
/// updates each layer as its gradients arrive during backward.
///   Differs   the window is a knob, `weights.prefetch_blocks`: the paper solves for the least that
///             hides copies, after a step of measuring. Blocks keep their inputs alone ('assumed').
///             No drive is used, though one may be there; host memory is pinned without rounding
///             ('assumed')
///   Source    STRONGHOLD (SC'22)
System stronghold() {
  System system;
  system.name = "stronghold";
  system.summary =
      "a window of layers on the GPU, all states in host memory, Adam on the CPU beside backward";
  system.source = "STRONGHOLD (SC'22)";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "stronghold";
    strategy.weights.home = description::Home::host;
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::active;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.convert = description::ConvertOn::cpu;
    strategy.gradients.reduce_bucket = description::Params(0);
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::host;
    strategy.optimizer.order = description::SubgroupOrder::descending;
    strategy.optimizer.grouping = description::Grouping::layers;
    strategy.optimizer.subgroup = description::Params(1);
    strategy.overflow_check = description::OverflowCheck::none;
    strategy.pinned = description::PinnedPolicy::exact;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
