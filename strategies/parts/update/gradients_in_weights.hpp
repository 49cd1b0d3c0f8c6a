#pragma once

#include "strategies/parts/update/gradients_to_host.hpp"

namespace spillway::strategies {

/// 16-bit gradients that take, in host memory, the place of the weights that they are of: nobody
/// reads those again before the update renews them (reuses_chunks).
///   Source  PatrickStar (arXiv 2108.05818), section 6; ColossalAI 0.3.5, Gemini
class GradientsInWeights final : public GradientsToHost {
 public:
  using GradientsToHost::GradientsToHost;

  View gradient(std::uint32_t weight) const override {
    return optimizer_.weight_share(weight).part(0, flat_bytes(weight));
  }
  View sectors(std::uint32_t weight) const override { return optimizer_.weight_share(weight); }

 private:
  Task<> make_flats() override { co_return; }
};

}  // namespace spillway::strategies
