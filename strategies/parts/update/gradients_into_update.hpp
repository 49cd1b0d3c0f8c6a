#pragma once

#include "strategies/parts/update/active_update.hpp"
#include "strategies/parts/update/gradients_to_host.hpp"

namespace spillway::strategies {

/// Gradients that the CPU's update takes as they come, sub-group by sub-group, while backward goes
/// on: they land where ActiveUpdate reads them. With gradient accumulation they add up in the flat
/// buffer, and the last micro-batch's backward completes them. With optimizer.roll_back they come
/// as ZeRO-3 brings them: to the flat buffer, which has a place for those of the GPU's update too,
/// up for their norms, and down to the optimizer's fp32 gradients, where an update takes them.
///   Source  LoHan, active gradient offloading; DeepSpeed superoffload_stage3.py, partition_grads,
///           and stage3.py, _setup_for_real_optimizer
class GradientsIntoUpdate final : public GradientsToHost {
 public:
  /// `all`: with the rows that others update.
  GradientsIntoUpdate(Machine& machine, Rank rank, const Job& job, CpuOptimizer& optimizer,
                      const Job& all);

  View gradient(std::uint32_t weight) const override {
    return update_.lands() ? update_.gradient(weight) : GradientsToHost::gradient(weight);
  }
  View sectors(std::uint32_t weight) const override {
    return update_.lands() ? update_.sectors(weight) : GradientsToHost::sectors(weight);
  }
  bool ends_with_backward() const override { return !updating_; }

  /// The backward of the last micro-batch begins.
  void begin_update(const StepNumbers& numbers);
  /// It ended: all gradients are on their way.
  void end_backward() { updating_ = false; }
  /// Waits for what is updated after backward; `taken_back`: it never was.
  Task<> finish_update(bool taken_back = false) { return update_.finish(taken_back); }
  /// Of an update that may be taken back: waits until all gradients have been looked through.
  Task<bool> overflows() { return update_.overflows(); }
  /// ... until it has been taken back, and made once more with other numbers.
  Task<> update_again(const StepNumbers& numbers) { return update_.update_again(numbers); }
  /// ... until the last sub-group is updated.
  Task<> updated() { return update_.updated(); }

 private:
  Task<> make_flats() override;
  Task<> room(std::uint32_t weight) override { return update_.room(weight); }
  void arrives(const GradientShare& share, const Op& arrived, MicroBatch micro) override;
  bool delivers() const override { return passes_on_; }
  void delivered(std::uint32_t weight, const View&, const Op& placed, std::vector<Op>) override {
    update_.arrives(weight, placed, placed);
  }

  const Job& all_;
  bool passes_on_;  ///< gradients are updated where they come to from the flat buffer
  ActiveUpdate update_;
  bool updating_ = false;  ///< the backward that goes on completes gradients
};

}  // namespace spillway::strategies
