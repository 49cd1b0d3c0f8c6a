#pragma once

#include "strategies/parts/update/gradients.hpp"
#include "strategies/parts/update/gradients_into_gpu_update.hpp"
#include "strategies/parts/update/gradients_into_states.hpp"
#include "strategies/parts/update/gradients_into_update.hpp"
#include "strategies/parts/update/late_gradients.hpp"
#include "strategies/parts/update/loose_gradients.hpp"

namespace spillway::strategies {

/// A rank's gradients, and the sinks that have them as who reads them must know them: `resident`,
/// `host` or both, each of its own rows, and of `host` what it is besides; `in_backward` in place
/// of `resident`.
struct MadeGradients {
  std::unique_ptr<Gradients> all;
  ResidentGradients* resident = nullptr;
  GradientsIntoGpuUpdate* in_backward = nullptr;
  GradientsToHost* host = nullptr;
  GradientsIntoStates* states = nullptr;
  GradientsIntoUpdate* active = nullptr;
  HandedOver* late = nullptr;
  LooseGradients* loose = nullptr;
};

}  // namespace spillway::strategies
