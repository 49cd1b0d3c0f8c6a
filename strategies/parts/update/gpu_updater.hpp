#pragma once

#include "strategies/parts/update/gpu_optimizer.hpp"
#include "strategies/parts/update/gradients_into_gpu_update.hpp"
#include "strategies/parts/update/updater.hpp"
#include "strategies/parts/weights/replay.hpp"

namespace spillway::strategies {

/// On the GPU; one step late it keeps what it made until it is published.
class GpuUpdater final : public Updater {
 public:
  explicit GpuUpdater(GpuOptimizer& optimizer) : optimizer_(optimizer) {}

  Task<> init() override { return optimizer_.init(); }
  Task<> update(const StepNumbers& numbers) override { return optimizer_.update(numbers); }
  Task<> publish() override { return optimizer_.publish_late(); }
  Task<> checkpoint() override { return optimizer_.checkpoint(); }

 private:
  GpuOptimizer& optimizer_;
};

/// On the GPU, of each layer once backward has its gradients.
class GpuUpdaterInBackward final : public Updater {
 public:
  GpuUpdaterInBackward(GpuOptimizer& optimizer, GradientsIntoGpuUpdate& gradients);

  Task<> init() override { return optimizer_.init(); }
  void before_backward(const StepNumbers& numbers, bool) override { numbers_ = numbers; }
  Task<> checkpoint() override { return optimizer_.checkpoint(); }

 private:
  GpuOptimizer& optimizer_;
  StepNumbers numbers_;
};

/// On the GPU, weight by weight with the delays of a recorded training (see Replay).
class RepeatedUpdater final : public Updater {
 public:
  RepeatedUpdater(GpuOptimizer& optimizer, Replay& replay);

  Task<> init() override { return optimizer_.init(); }
  void before_backward(const StepNumbers& numbers, bool) override { numbers_ = numbers; }
  Task<> stop() override { return replay_.show_all(); }
  Task<> checkpoint() override { return optimizer_.checkpoint(); }

 private:
  GpuOptimizer& optimizer_;
  Replay& replay_;
  StepNumbers numbers_;  ///< of the micro-batch that runs
};

}  // namespace spillway::strategies
