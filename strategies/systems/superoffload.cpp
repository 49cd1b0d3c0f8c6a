#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// ZeRO-3 with weights on the GPUs and states in host memory, as DeepSpeed runs it from 0.18.9 on.
/// Gradients come down to a flat buffer of 2 B/param, which has a place for those of the GPU's
/// share too, go up once more for their norms, and come down as fp32 ones, 4 B/param of the CPU's
/// share. A process of its own copies those of a sub-group, 4 B/param of the largest in pinned
/// memory, and updates it as soon as it has all of them, before it is known whether the step
/// overflows. New weights go up when all sub-groups are updated, by a copy that changes type and
/// blocks. The GPU keeps the states of the first sub-groups, which backward completes last, and
/// updates them itself.
///   Pinned    where `gradients.d2h` says so: the flat buffer, and at first the fp32 gradients.
///             Those move into shared memory, which is not pinned, when they are first sent to the
///             other process; the allocator keeps their pinned blocks, 4 B/param more
///   Overflow  `chained`, as DeepSpeed: the flat buffer is looked through when all are updated, and
///             updates are taken back by Adam the other way round: no memory, and not the numbers
///             that were there, for which no training with real transfers does it. `fused`: each
///             sub-group is looked through before its Adam, and old values are copied first, 12
///             B/param, which are put back
///   Share     `ratio`; a tenth of the sub-groups on the GPU is 'assumed'
///   Clipping  of a global norm (training.gradient_clipping), as in the paper: old values are kept
///             as with `fused`, the norm is known behind the last gradient, and where it is too
///             long the CPU's sub-groups are taken back and updated once more. The GPU's share is
///             updated behind backward in any case. DeepSpeed does not speculate then:
///             gradients.policy host_fp32, roll_back false
///   Differs   from the paper, which casts new weights on the GPU as they are made. From DeepSpeed:
///             the GPU's share of the gradients
///             takes no way through host memory, and with several micro-batches it waits as 16-bit
///             sums; the CPU's are not multiplied by 1 after Adam; cores are not divided between
///             Adam and the rest (`cpuadam_cores_perc`); a rank's second process has its context on
///             that rank's GPU, not on the first, and no memory for its interpreter
///   Source    SuperOffload (arXiv 2509.21271); DeepSpeed superoffload_stage3.py, partition_grads,
///             step and _reassign_or_swap_out_partitioned_parameters; superoffload_utils.py;
///             stage3.py, _setup_for_real_optimizer, initialize_optimizer_states, has_overflow
System superoffload() {
  System system;
  system.name = "superoffload";
  system.summary =
      "states in host memory, Adam on the CPU beside backward before the overflow check, taken "
      "back where it fails, the last sub-groups on the GPU";
  system.source = "SuperOffload (arXiv 2509.21271); DeepSpeed from 0.18.9 on";
  system.program = Program::deepspeed;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "superoffload";
    strategy.weights.home = description::Home::gpu;
    strategy.weights.hooks = true;
    strategy.weights.h2d = description::WeightCopy::typed;
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::active;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.gradients.norm = description::GradientNorm::fp64;
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::host;
    strategy.optimizer.order = description::SubgroupOrder::descending;
    strategy.optimizer.grouping = description::Grouping::parameter_groups;
    strategy.optimizer.cpu_share = 0.9;
    strategy.optimizer.roll_back = true;
    strategy.optimizer.unscale = true;
    strategy.overflow_check = description::OverflowCheck::chained;
    strategy.pinned = description::PinnedPolicy::power_of_two;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
