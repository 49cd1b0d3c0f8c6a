#pragma once

#include "strategies/parts/update/gradients_into_states.hpp"

namespace spillway::strategies {

/// Gradients of two steps: one's are coming, the other's are read by an update beside that step
/// (staleness 1).
class HandedOver {
 public:
  virtual ~HandedOver() = default;

  /// The update that now begins takes this step's gradients.
  virtual void hand_over() = 0;
  /// Those handed over last.
  virtual View handed_over(std::uint32_t weight) const = 0;
  /// With whole sectors for them, where new weights take their place.
  virtual View handed_over_sectors(std::uint32_t weight) const = 0;
};

/// In a flat buffer each.
class LateGradients final : public GradientsToHost, public HandedOver {
 public:
  using GradientsToHost::GradientsToHost;

  void hand_over() override { std::swap(flat_, handed_over_); }
  View handed_over(std::uint32_t weight) const override { return in_flat(handed_over_, weight); }
  View handed_over_sectors(std::uint32_t weight) const override {
    return sectors_in(handed_over_, weight);
  }

 private:
  Task<> make_flats() override {
    flat_ = co_await make_flat();
    handed_over_ = co_await make_flat();
  }

  Buffer handed_over_;
};

/// As fp32 ones, in two buffers that the process that updates shares
/// (updates_in_shared_memory).
///   Source  DeepSpeed zenflow_stage_1_and_2.py, initialize_optimizer_states, overlap_grad
class LateGradientsIntoStates final : public GradientsIntoStates, public HandedOver {
 public:
  using GradientsIntoStates::GradientsIntoStates;

  void hand_over() override { std::swap(coming_, handed_over_); }
  View handed_over(std::uint32_t weight) const override { return wide(handed_over_, weight); }
  View handed_over_sectors(std::uint32_t) const override { return View(); }

 private:
  Task<> make_flats() override;
  View place(std::uint32_t weight) const override { return wide(coming_, weight); }
  View wide(const Buffer& all, std::uint32_t weight) const;

  std::vector<std::uint64_t> offset_;  ///< by weight
  Buffer coming_, handed_over_;
};

}  // namespace spillway::strategies
