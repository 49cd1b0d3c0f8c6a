#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// ZeRO-3 with weights on the GPUs and states in host memory. Gradients are widened on the GPU and
/// come down as fp32; the CPU updates a sub-group as soon as it has all of its gradients, before it
/// is known whether the step overflows, and takes the update back where it does. The GPU keeps the
/// states of the first sub-groups, which backward completes last, and updates them itself.
///   Numerics  of the same step without speculation: old values are copied before an update, in
///             host memory, and put back. Where precision has no overflow check nothing is copied
///   Share     a tenth of the sub-groups on the GPU is 'assumed'; DeepSpeed's is `ratio`
///   Differs   DeepSpeed computes old values from new ones and gradients, which takes no memory and
///             does not give back all bits. New weights go up in the type of the kernels, of a
///             checked step after backward. Gradients are looked through by the CPU. Cores are not
///             divided between Adam and the rest (`cpuadam_cores_perc`). A global norm is not
///             clipped, which DeepSpeed does without speculating
///   Source    SuperOffload (arXiv 2509.21271); DeepSpeed superoffload_stage3.py
System superoffload() {
  System system;
  system.name = "superoffload";
  system.summary =
      "states in host memory, Adam on the CPU beside backward before the overflow check, taken "
      "back where it fails, the last sub-groups on the GPU";
  system.source = "SuperOffload (arXiv 2509.21271); DeepSpeed from 0.18 on";
  system.program = Program::deepspeed;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "superoffload";
    strategy.weights.home = description::Home::gpu;
    strategy.weights.hooks = true;
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::active;
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::host;
    strategy.optimizer.order = description::SubgroupOrder::descending;
    strategy.optimizer.grouping = description::Grouping::parameter_groups;
    strategy.optimizer.cpu_share = 0.9;
    strategy.optimizer.roll_back = true;
    strategy.overflow_check = description::OverflowCheck::fused;
    strategy.pinned = description::PinnedPolicy::power_of_two;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
