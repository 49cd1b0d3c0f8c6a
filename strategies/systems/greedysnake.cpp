#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights and states on SSD as in ZeRO-Infinity, but all micro-batches of a step go through a
/// layer together: its weights are read once a pass in place of once a micro-batch, and its
/// gradients, which kernels add up, leave once. The inputs of blocks, of all micro-batches, wait in
/// host memory, and so do gradients. A part of the update goes on in the next step's forward, in
/// which each layer waits for its own: nothing else is trained.
///   Known     the abstract alone. 'Assumed': where checkpoints and gradients wait; that the head
///             runs forward and backward of each micro-batch in turn; that the last sub-groups are
///             the delayed ones, a fifth of them where a scenario says nothing, where the paper's
///             linear program chooses the shares: of the update that is late, and of states that
///             stay in host memory. `choices` stand for it: no delay, half and all of the update,
///             of which a step hides as much as its forward leaves room for, and states on drives
///             by quarters
///   Source    GreedySnake (arXiv 2512.17570)
System greedysnake() {
  System system;
  system.name = "greedysnake";
  system.summary =
      "weights and states on SSD, all micro-batches through a layer before the next one, a part of "
      "the update in the next forward";
  system.source = "GreedySnake (arXiv 2512.17570)";
  system.program = Program::none;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("zero_infinity");
    strategy.gradients.norm = description::GradientNorm::in_place;
    strategy.optimizer.unscale = false;
    strategy.weights.hooks = false;
    strategy.system = "greedysnake";
    strategy.micro_batches = description::MicroBatchOrder::by_layer;
    strategy.weights.persistence_threshold = description::Params(0);
    strategy.activations.policy = description::ActivationPolicy::checkpoint_host;
    strategy.gradients.policy = description::GradientPolicy::host_fp16;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.convert = description::ConvertOn::cpu;
    strategy.gradients.staging_buffer = false;
    strategy.optimizer.grouping = description::Grouping::model_order;
    strategy.optimizer.buffers = 9;  // three sub-groups: being read, in Adam, being written
    strategy.optimizer.pipeline_read = true;
    strategy.optimizer.pipeline_write = true;
    strategy.optimizer.delayed_share = 0.2;
    return strategy;
  };
  system.choices = {{"optimizer", "ssd_share", {1, 0.75, 0.5, 0.25, 0}},
                    {"optimizer", "delayed_share", {0, 0.5, 1}}};
  return system;
}

}  // namespace spillway::strategies
