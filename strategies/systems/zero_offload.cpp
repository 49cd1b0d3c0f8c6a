#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Weights, gradients and optimizer states in host memory, no SSD: ZeRO-3 with CPU offload, as
/// DeepSpeed runs it. The original form is `weights.home: gpu` with `parallel.zero_stage: 2`, whose
/// gradients go straight to the optimizer's (`gradients.lands`).
///   Source  ZeRO-Offload (USENIX ATC'21); DeepSpeed stage3.py, stage_1_and_2.py; MemAscend II
System zero_offload() {
  System system;
  system.name = "zero_offload";
  system.summary = "weights, gradients and optimizer states in host memory, Adam on the CPU";
  system.source = "ZeRO-Offload (USENIX ATC'21); DeepSpeed ZeRO-3 with CPU offload";
  system.program = Program::deepspeed;
  system.schedule = Schedule::streaming;
  system.has_versions = true;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "zero_offload";
    strategy.weights.home = description::Home::host;
    strategy.weights.hooks = true;
    strategy.weights.persistence_threshold = description::Params(100'000);
    strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
    strategy.gradients.policy = description::GradientPolicy::host_fp32;
    strategy.gradients.norm = description::GradientNorm::fp64;
    strategy.gradients.staging_buffer = true;
    strategy.optimizer.device = description::OptimizerDevice::cpu;
    strategy.optimizer.home = description::Home::host;
    strategy.optimizer.unscale = true;
    strategy.overflow_check = description::OverflowCheck::chained;
    strategy.pinned = description::PinnedPolicy::power_of_two;
    return strategy;
  };
  // what DeepSpeed does of {"stage": 2, "offload_optimizer": {"device": "cpu"}} in 16 bits
  system.other_form = Form{" with weights on the GPU (ZeRO-2)",
                           R"({"weights": {"home": "gpu"}, "optimizer": {"subgroup": "1e12 params"},
          "gradients": {"accumulation": "fp16", "overlap": false, "staging_buffer": false}})",
                           2};
  return system;
}

}  // namespace spillway::strategies
