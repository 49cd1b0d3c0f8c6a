#pragma once

#include "strategies/parts/update/gradients_to_host.hpp"

namespace spillway::strategies {

/// Gradients of two steps, a flat buffer each: one is being filled, the other one is read by an
/// update beside that step (staleness 1).
class LateGradients final : public GradientsToHost {
 public:
  using GradientsToHost::GradientsToHost;

  /// The update that now begins takes this step's gradients.
  void hand_over() { std::swap(flat_, handed_over_); }
  /// Those handed over last.
  View handed_over(std::uint32_t weight) const { return in_flat(handed_over_, weight); }
  View handed_over_sectors(std::uint32_t weight) const { return sectors_in(handed_over_, weight); }

 private:
  Task<> make_flats() override {
    flat_ = co_await make_flat();
    handed_over_ = co_await make_flat();
  }

  Buffer handed_over_;
};

}  // namespace spillway::strategies
