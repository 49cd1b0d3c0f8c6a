#pragma once

#include "strategies/parts/update/gradients.hpp"
#include "strategies/parts/update/gradients_into_update.hpp"
#include "strategies/parts/update/late_gradients.hpp"
#include "strategies/parts/update/update_loop.hpp"
#include "strategies/parts/update/updater.hpp"

namespace spillway::strategies {

/// On the CPU, or inside the storages; the next step waits for it, or, with
/// `optimizer.delayed_share`, each of its layers for what was left for later.
class CpuUpdater final : public Updater {
 public:
  CpuUpdater(CpuOptimizer& optimizer, const GradientsToHost& gradients)
      : optimizer_(optimizer), gradients_(gradients) {}

  Task<> init() override { return optimizer_.init(); }
  Task<> update(const StepNumbers& numbers) override;
  Task<> publish() override { return optimizer_.finish_delayed(); }
  Task<> checkpoint() override { return optimizer_.checkpoint(); }

 private:
  CpuOptimizer& optimizer_;
  const GradientsToHost& gradients_;
};

/// On the CPU, beside the next step, with gradients that are handed over to it.
///   Source  ZeRO-Offload (ATC'21) section 5.2, one-step delay
class LateUpdater final : public Updater {
 public:
  LateUpdater(Machine& machine, CpuOptimizer& optimizer, HandedOver& gradients)
      : machine_(machine), optimizer_(optimizer), gradients_(gradients) {}

  Task<> init() override { return optimizer_.init(); }
  Task<> update(const StepNumbers& numbers) override;
  Task<> publish() override;
  Task<> checkpoint() override { return optimizer_.checkpoint(); }

 private:
  Machine& machine_;
  CpuOptimizer& optimizer_;
  HandedOver& gradients_;
  Pending<> running_;
};

/// On the CPU, each sub-group as soon as backward has made the last of its gradients (see
/// ActiveUpdate). The next step waits for what backward was too short for.
///   Source  LoHan, active gradient offloading
class ActiveUpdater final : public Updater {
 public:
  ActiveUpdater(CpuOptimizer& optimizer, Gradients& all, GradientsIntoUpdate& gradients)
      : optimizer_(optimizer), all_(all), gradients_(gradients) {}

  Task<> init() override { return optimizer_.init(); }
  void before_backward(const StepNumbers& numbers, bool completes) override;
  Task<> update(const StepNumbers& numbers) override;
  Task<> take_back() override;
  Task<> checkpoint() override { return optimizer_.checkpoint(); }

 private:
  CpuOptimizer& optimizer_;
  Gradients& all_;
  GradientsIntoUpdate& gradients_;
};

/// On the CPU, in a loop that begins with the first gradients and that no step waits for (see
/// UpdateLoop).
///   Source  Angel-PTM (VLDB'23), lock-free update
class LooseUpdater final : public Updater {
 public:
  LooseUpdater(Machine& machine, Rank rank, const Job& job, RenewedWeights& weights,
               CpuOptimizer& optimizer, LooseGradients& gradients)
      : optimizer_(optimizer), loop_(machine, rank, job, weights, optimizer, gradients) {}

  Task<> init() override;
  void after_backward(const StepNumbers& numbers) override { loop_.start(numbers); }
  Task<> stop() override { return loop_.stop(); }
  Task<> checkpoint() override { return optimizer_.checkpoint(); }

 private:
  CpuOptimizer& optimizer_;
  UpdateLoop loop_;
};

}  // namespace spillway::strategies
