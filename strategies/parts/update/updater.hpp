#pragma once

#include "strategies/parts/update/cpu_optimizer.hpp"
#include "strategies/parts/update/gpu_optimizer.hpp"
#include "strategies/parts/update/gradients_to_host.hpp"
#include "strategies/parts/update/late_gradients.hpp"

namespace spillway::strategies {

/// Who updates weights at the end of a step, with the gradients that it made.
class Updater {
 public:
  virtual ~Updater() = default;
  /// Returns when the next step may begin.
  virtual Task<> update(const Numbers& numbers) = 0;
  /// What an update beside the step made of the weights, which the step did not see: the next one
  /// does. Nothing where an update ends with its step.
  virtual Task<> publish() { co_return; }
};

/// On the GPU; one step late it keeps what it made until it is published.
class GpuUpdater final : public Updater {
 public:
  explicit GpuUpdater(GpuOptimizer& optimizer) : optimizer_(optimizer) {}
  Task<> update(const Numbers& numbers) override { return optimizer_.update(numbers); }
  Task<> publish() override { return optimizer_.publish_late(); }

 private:
  GpuOptimizer& optimizer_;
};

/// On the CPU, or inside the storages; the next step waits for it.
class CpuUpdater final : public Updater {
 public:
  CpuUpdater(CpuOptimizer& optimizer, const GradientsToHost& gradients)
      : optimizer_(optimizer), gradients_(gradients) {}
  Task<> update(const Numbers& numbers) override;

 private:
  CpuOptimizer& optimizer_;
  const GradientsToHost& gradients_;
};

/// On the CPU, beside the next step, with gradients that are handed over to it.
class LateUpdater final : public Updater {
 public:
  LateUpdater(Machine& machine, CpuOptimizer& optimizer, LateGradients& gradients)
      : machine_(machine), optimizer_(optimizer), gradients_(gradients) {}
  Task<> update(const Numbers& numbers) override;
  Task<> publish() override;

 private:
  Machine& machine_;
  CpuOptimizer& optimizer_;
  LateGradients& gradients_;
  Pending<> running_;
};

}  // namespace spillway::strategies
