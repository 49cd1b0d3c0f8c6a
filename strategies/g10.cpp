#include "strategies/planned_settings.hpp"
#include "strategies/systems.hpp"

namespace spillway::strategies {

/// GPU, host and flash as one memory: tensors whose way there and back is shorter than their idle
/// time leave, to host memory where the flash has no time left, and come back as early as there is
/// room. Nothing is recomputed; the update is on the GPU. Where the machine has no GPUDirect
/// Storage the bytes pass pinned buffers, which settle says.
///   Source  G10 (MICRO'23): tensor vitality and smart migration; planned by the same code as
///           TeraIO's, with its own choices
description::Strategy g10_defaults() {
  description::Strategy strategy = teraio_defaults();
  strategy.system = "g10";
  strategy.plan.saturation = description::PlanSaturation::no_window;
  strategy.plan.must_hide = true;
  strategy.plan.eager_prefetch = true;
  return strategy;
}

}  // namespace spillway::strategies
