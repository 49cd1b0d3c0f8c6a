#include "strategies/planner/migration/plan_knobs.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// GPU, host and flash as one memory: tensors whose way there and back is shorter than their idle
/// time leave, to host memory where the flash has no time left, and come back as early as there is
/// room. Nothing is recomputed; the update is on the GPU. Where the machine has no GPUDirect
/// Storage the bytes pass pinned buffers, which settle says.
///   Source  G10 (MICRO'23): tensor vitality and smart migration; planned by the same code as
///           TeraIO's, with its own choices
System g10() {
  System system;
  system.name = "g10";
  system.summary =
      "one memory of GPU, host and flash: tensors move where their way hides, early back";
  system.source = "G10 (MICRO'23), as LoHan's baseline";
  system.program = Program::none;
  system.schedule = Schedule::planned;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("teraio");
    strategy.system = "g10";
    strategy.plan.saturation = description::PlanSaturation::no_window;
    strategy.plan.drop_clean = false;
    strategy.plan.must_hide = true;
    strategy.plan.eager_prefetch = true;
    strategy.optimizer.kernels = description::AdamKernels::fused;  // none is described
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
