#pragma once

#include "strategies/parts/update/gradients_to_host.hpp"

namespace spillway::strategies {

/// Gradients that come down layer by layer, each block's into one of a fixed number of pinned
/// buffers (`gradients.slabs`), from which the CPU adds them to those that it keeps; layers that
/// are no block have one each. A layer waits until a slab is free; its gradients keep their GPU
/// memory as long.
///   Source  MegaTrain (arXiv 2604.05091), its pool of gradient slabs
class GradientsInSlabs final : public GradientsToHost {
 public:
  using GradientsToHost::GradientsToHost;

  Task<> take(std::vector<GradientShare> shares, LayerGradients layer, MicroBatch micro) override;

 private:
  void make_staging() override;
  bool passes_landing() const override { return true; }
  Task<View> landing_place(const GradientShare& share) override;

  /// Of a weight's gradient: the layer that sends it, and where in its slab.
  struct Place {
    std::uint32_t layer = 0;
    std::uint64_t offset = 0;
  };
  std::vector<Place> places_;   ///< by weight
  std::vector<Buffer> filled_;  ///< by layer, as long as something is on its way through it
  void make_slabs(std::uint64_t count, std::uint64_t bytes, std::shared_ptr<BufferPool>& pool);

  std::vector<std::shared_ptr<BufferPool>> slabs_;  ///< by layer; all blocks have the same
};

}  // namespace spillway::strategies
