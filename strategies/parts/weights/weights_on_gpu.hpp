#pragma once

#include "strategies/parts/weights/weight_source.hpp"

namespace spillway::strategies {

/// Weights that live on the GPU: used in place where the rank holds them whole, else gathered by an
/// all-gather when a layer needs them.
class WeightsOnGpu : public WeightSource {
 public:
  WeightsOnGpu(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout);

  Task<> init() override;
  View share(std::uint32_t weight) const override;
  bool fetches(const LayerWeight& slot) const override { return !layout_.whole[slot.weight]; }
  std::uint64_t gpu_bytes(const LayerWeight& slot) const override;
  Task<FetchedWeight> fetch(const LayerWeight& slot, Buffer into) override;

  /// Of a weight that each rank holds whole.
  View whole(std::uint32_t weight) const;
  /// Where the part of a weight lies that an optimizer spread over `ways` ranks renews here.
  View updated_share(std::uint32_t weight) const;

 protected:
  /// A layer fetches the weight.  Result  its values are there; empty: they are already
  virtual Op values(std::uint32_t) { return Op(); }

 private:
  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const WeightLayout& layout_;
  WeightGather gather_;
  std::vector<std::uint64_t> offset_;  ///< by weight
  Buffer flat_;
};

}  // namespace spillway::strategies
