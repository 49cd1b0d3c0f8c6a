#pragma once

#include "strategies/layout/job.hpp"

#include <optional>
#include <unordered_map>

namespace spillway::strategies {

/// Which weights of a layer a micro-batch has to have on the GPU: all, but where each expert has
/// tensors of its own that alone leave the GPU, those of experts that none of its tokens chooses
/// (models::copies_of_experts).
///   Not  where ranks gather a weight together, who may choose differently; nor where something
///        reads matrices that multiply nothing, as norms of DoRA do
class ChosenExperts {
 public:
  explicit ChosenExperts(const Job& job);

  /// Whether any micro-batch may do without a weight.
  bool any() const { return any_; }
  /// What follows is about passes of this micro-batch; nothing: of several at once.
  void set_micro_batch(std::optional<std::uint64_t> micro_batch);
  bool needs(std::uint32_t weight);
  /// One of the layer's weights that is needed, of the shape of `weight`, which is not: no row is
  /// multiplied by what kernels find in its place.
  ///   Result  its place in LayerPlan::weights
  std::size_t stand_in(const LayerPlan& plan, std::uint32_t weight);

 private:
  const Job& job_;
  bool any_ = false;
  std::optional<std::uint64_t> micro_batch_;
  /// By layer, as WeightTensor has it: copies of tokens for each expert.
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> copies_;
};

}  // namespace spillway::strategies
