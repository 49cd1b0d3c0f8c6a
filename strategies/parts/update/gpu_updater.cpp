#include "strategies/parts/update/gpu_updater.hpp"

namespace spillway::strategies {

GpuUpdaterInBackward::GpuUpdaterInBackward(GpuOptimizer& optimizer,
                                           GradientsIntoGpuUpdate& gradients)
    : optimizer_(optimizer) {
  gradients.set_update(
      [this](const GradientShare& share) { return optimizer_.update(share, numbers_); });
}

RepeatedUpdater::RepeatedUpdater(GpuOptimizer& optimizer, Replay& replay)
    : optimizer_(optimizer), replay_(replay) {
  replay.set_update(
      [this](std::uint32_t weight, std::uint64_t number, View into, const After& after) {
        StepNumbers numbers = numbers_;
        numbers.update = number;
        return optimizer_.update(weight, numbers, std::move(into), after);
      });
}

}  // namespace spillway::strategies
