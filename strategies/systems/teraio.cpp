#include "strategies/planner/migration/plan_knobs.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Tensors that are idle for long leave for SSD and host memory by GPUDirect Storage and DMA, as a
/// plan from their lifetimes says; all of the update is on the GPU. A run that fits moves nothing.
///   Adam    weight by weight and operation by operation: a fused one would need all states at once
///   Source  TeraIO, "Cost-Efficient LLM Training with Lifetime-Aware Tensor Offloading via
///           GPUDirect Storage"
System teraio() {
  System system;
  system.name = "teraio";
  system.summary =
      "idle tensors leave the GPU for SSD and host as a plan from their lifetimes says";
  system.source = "TeraIO (see its sections 3 and 4)";
  system.program = Program::none;
  system.schedule = Schedule::planned;
  system.defaults = [] {
    description::Strategy strategy;
    strategy.system = "teraio";
    strategy.weights.home = description::Home::gpu;
    strategy.activations.policy = description::ActivationPolicy::plan;
    strategy.gradients.policy = description::GradientPolicy::resident;
    strategy.gradients.accumulation = description::Width::fp16;
    strategy.optimizer.device = description::OptimizerDevice::gpu;
    strategy.optimizer.home = description::Home::gpu;
    strategy.overflow_check = description::OverflowCheck::none;
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.gpu_allocator = description::GpuAllocator::exact;
    strategy.io_engine = description::IoEngine::gds;
    set_plan_defaults(strategy);
    strategy.plan.saturation = description::PlanSaturation::device_time;
    strategy.plan.drop_clean = true;
    strategy.optimizer.overlap = description::UpdateOverlap::none;
    strategy.optimizer.kernels = description::AdamKernels::for_loop;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
