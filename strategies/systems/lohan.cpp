#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, masters and Adam's states on SSD. Gradients are consumed by the CPU's Adam as they
/// arrive during backward, and so many bytes of activations are swapped, to host memory first and
/// to SSD then, that the whole step is shortest; the rest is computed again.
///   Sub-group closes with the tensor that brings a rank's part of it to 7e8 parameters, as in the
///             artifact: of N ranks it holds N times as many layers
///   Waits     for Adam, as the paper says; with `optimizer.wait` false as its artifact does
///   Differs   new weights take the place of their gradients, and the layers' norms and biases stay
///             on the GPU
///   Source    LoHan, sections IV-C (active gradient offloading) and IV-D (Algorithm 1); its
///             artifact
System lohan() {
  System system;
  system.name = "lohan";
  system.summary =
      "states on SSD, gradients updated as they come, activations swapped as the whole step is "
      "best";
  system.source = "LoHan (see its section IV)";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "lohan";
    strategy.weights.home = description::Home::ssd;
    strategy.weights.pool = description::PoolKind::monolithic;
    strategy.activations.policy = description::ActivationPolicy::swap;
    strategy.activations.homes = {"host", "ssd"};
    strategy.gradients.policy = description::GradientPolicy::active;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.convert = description::ConvertOn::cpu;
    strategy.gradients.reduce_bucket = description::Params(0);
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::ssd;
    strategy.optimizer.order = description::SubgroupOrder::descending;
    strategy.optimizer.grouping = description::Grouping::model_order;
    strategy.optimizer.subgroup = description::Params(700'000'000);
    strategy.optimizer.buffers = 9;  // three sub-groups: being read, in Adam, being written
    strategy.optimizer.pipeline_read = true;  // of an update after backward, the ablation
    strategy.optimizer.pipeline_write = true;
    strategy.optimizer.host_cache = description::Bytes(0);
    strategy.overflow_check = description::OverflowCheck::none;
    strategy.pinned = description::PinnedPolicy::power_of_two;
    strategy.io_engine = description::IoEngine::direct;
    strategy.optimizer.widen_first = false;
    strategy.activations.order = description::SwapOrder::offloading_benefit;
    strategy.activations.min_swap = description::MinSwap::inter_block;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
