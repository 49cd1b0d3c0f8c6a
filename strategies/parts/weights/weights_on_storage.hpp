#pragma once

#include "strategies/machine/pool.hpp"
#include "strategies/parts/weights/weight_source.hpp"

#include <memory>

namespace spillway::strategies {

/// Weights that live on storage, an extent each: a read into a buffer of the pool, a copy to the
/// GPU, an all-gather. The buffer is free when its copy ends. One I/O queue a process: a layer's
/// reads do not slow those of the layer before it.
///   weights.pool   monolithic: equal buffers for the largest share; adaptive: classes by shape, as
///                  many of each as a layer has
///   Source  DeepSpeed partitioned_param_swapper.py; adaptive: MemAscend IV-B
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
  Task<FetchedWeight> fetch(const LayerWeight& slot) override;

  const Stored& extent(std::uint32_t weight) const { return extents_[weight]; }

 private:
  void make_equal_buffers();
  void make_classes();
  void add_pool(std::uint64_t count, std::uint64_t bytes);
  BufferPool& pool_for(std::uint32_t weight) { return *pools_[pool_of_[weight]]; }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const WeightLayout& layout_;
  WeightGather gather_;
  std::vector<Stored> extents_;  ///< by weight
  std::vector<std::unique_ptr<BufferPool>> pools_;
  std::vector<std::size_t> pool_of_;  ///< by weight
  Op last_read_;
};

}  // namespace spillway::strategies
