#pragma once

#include "strategies/parts/update/active_update.hpp"
#include "strategies/parts/update/gradients_to_host.hpp"

namespace spillway::strategies {

/// Gradients that the CPU's update takes as they come, sub-group by sub-group, while backward goes
/// on: they land where ActiveUpdate reads them. With gradient accumulation they add up in the flat
/// buffer, and the last micro-batch's backward completes them.
///   Source  LoHan, active gradient offloading
class GradientsIntoUpdate final : public GradientsToHost {
 public:
  GradientsIntoUpdate(Machine& machine, Rank rank, const Job& job, CpuOptimizer& optimizer)
      : GradientsToHost(machine, rank, job, optimizer),
        update_(machine, rank, job, optimizer, flat_format_) {}

  View gradient(std::uint32_t weight) const override {
    return update_.lands() ? update_.gradient(weight) : GradientsToHost::gradient(weight);
  }
  View sectors(std::uint32_t weight) const override {
    return update_.lands() ? update_.sectors(weight) : GradientsToHost::sectors(weight);
  }
  bool ends_with_backward() const override { return !updating_; }

  /// The backward of the last micro-batch begins.
  void begin_update(const Numbers& numbers);
  /// It ended: all gradients are on their way.
  void end_backward() { updating_ = false; }
  /// Waits for what is updated after backward; `taken_back`: it never was.
  Task<> finish_update(bool taken_back = false) { return update_.finish(taken_back); }
  /// Of an update that may be taken back: waits until all gradients have been looked through.
  Task<bool> overflows() { return update_.overflows(); }

 private:
  Task<> make_flats() override;
  Task<> room(std::uint32_t weight) override { return update_.room(weight); }
  void arrives(const GradientShare& share, const Op& arrived, MicroBatch micro) override {
    if (micro.last) update_.arrives(share.weight, share.ready, arrived);
  }
  bool delivers() const override { return false; }

  ActiveUpdate update_;
  bool updating_ = false;  ///< the backward that goes on completes gradients
};

}  // namespace spillway::strategies
