#pragma once

#include "strategies/parts/weights/weight_buffers.hpp"
#include "strategies/parts/weights/weight_source.hpp"

#include <memory>

namespace spillway::strategies {

/// Weights that live on storage, an extent each: a read into a buffer of `weights.pool`, a copy to
/// the GPU, an all-gather. The buffer is free when its copy ends. One I/O queue a process: a
/// layer's reads do not slow those of the layer before it.
///   Source  DeepSpeed partitioned_param_swapper.py
class WeightsOnStorage final : public WeightSource {
 public:
  WeightsOnStorage(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout);

  Task<> init() override;
  /// Throws  InternalError: it lies in no memory
  View share(std::uint32_t weight) const override;
  bool fetches(const LayerWeight&) const override { return true; }
  std::uint64_t gpu_bytes(const LayerWeight& slot) const override {
    return gather_.gpu_bytes(slot);
  }
  Task<FetchedWeight> fetch(const LayerWeight& slot, Buffer into) override;

  const Stored& extent(std::uint32_t weight) const { return extents_[weight]; }

 private:
  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const WeightLayout& layout_;
  WeightGather gather_;
  std::vector<Stored> extents_;  ///< by weight
  std::unique_ptr<WeightBuffers> buffers_;
  Op last_read_;
};

}  // namespace spillway::strategies
