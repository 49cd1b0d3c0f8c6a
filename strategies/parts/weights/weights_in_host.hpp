#pragma once

#include "strategies/parts/weights/weight_source.hpp"

namespace spillway::strategies {

/// One pinned buffer with the rank's shares of all weights that live in host memory.
class HostShares {
 public:
  /// offset  by weight, where its share begins in the buffer
  HostShares(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout,
             std::vector<std::uint64_t> offset, std::uint64_t bytes);
  /// One share after the other, as whole pages where `weights.pool` says so.
  HostShares(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout);

  /// The buffer, and the first values of what lies in it.
  ///   Throws  OutOfMemory
  Task<> init();
  View share(std::uint32_t weight) const {
    return flat_.view(offset_[weight], layout_.share_bytes[weight]);
  }
  View view(std::uint64_t first, std::uint64_t bytes) const { return flat_.view(first, bytes); }

 private:
  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const WeightLayout& layout_;
  std::vector<std::uint64_t> offset_;
  std::uint64_t bytes_ = 0;
  Buffer flat_;
};

/// Weights that live in host memory, and come tensor by tensor: a copy of the rank's share, then an
/// all-gather. One copy stream: a block's tensors follow each other, and leave peers half of the
/// link.
class WeightsInHost : public WeightSource {
 public:
  WeightsInHost(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout);

  Task<> init() override { return shares_.init(); }
  View share(std::uint32_t weight) const override { return shares_.share(weight); }
  bool fetches(const LayerWeight&) const override { return true; }
  std::uint64_t gpu_bytes(const LayerWeight& slot) const override {
    return gather_.gpu_bytes(slot);
  }
  Task<FetchedWeight> fetch(const LayerWeight& slot, Buffer into) override;

 protected:
  /// What a copy of the weight to the GPU waits for, beside the copy before it.
  virtual Op values(std::uint32_t) const { return Op(); }
  virtual void copied(std::uint32_t /*weight*/, const Op&) {}

  Machine& machine_;
  Rank rank_;

 private:
  HostShares shares_;
  WeightGather gather_;
  Op last_copy_;
};

}  // namespace spillway::strategies
