#pragma once

#include "strategies/layout/weight_layout.hpp"

namespace spillway::strategies {

/// A weight on the GPU, or on its way there.
struct FetchedWeight {
  View whole;
  Op ready;  ///< after it the weight is whole
  Op read;   ///< from storage; empty: it comes from nearer
};

/// Where weights come from. A source owns the weights that live there (WeightLayout), and knows how
/// one of them comes to the GPU. Several sources serve a layer together; Weights asks each for its
/// own, in the order of the layer.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  /// Set-up: memory, extents and what they hold.
  ///   Throws  OutOfMemory
  virtual Task<> init() = 0;
  /// This rank's share, of a source whose weights lie in memory.
  virtual View share(std::uint32_t weight) const = 0;

  /// Something must come to the GPU before kernels can use the weight.
  virtual bool fetches(const LayerWeight& slot) const = 0;
  /// Bytes of the buffer on the GPU that the weight comes to; 0: it needs none of its own.
  virtual std::uint64_t gpu_bytes(const LayerWeight& slot) const = 0;
  /// Starts to bring the weight; returns when its operations are issued.
  ///   into  such a buffer
  virtual Task<FetchedWeight> fetch(const LayerWeight& slot, Buffer into) = 0;

  // ---- Of a source that brings what a layer needs at once

  /// Bytes of GPU memory that `begin_layer` takes of what is free.
  virtual std::uint64_t gpu_bytes_of_layer(std::uint32_t) const { return 0; }
  /// What follows are fetches of this layer.
  ///   Throws  OutOfMemory when the GPU has no room for it
  virtual void begin_layer(std::uint32_t) {}
  virtual void begin_pass(bool /*backward*/) {}
  /// All that a step knew of its weights is over: they are about to be updated.
  virtual void step_ends() {}
};

/// One rank's part in making weights whole on its GPU.
class WeightGather {
 public:
  WeightGather(Machine& machine, Rank rank, const Job& job);

  /// GPU memory for a whole weight, and this rank's share in it.
  struct GatherTarget {
    View whole, own;
    bool shared;  ///< others, of `group`, have the rest
    Group group;
  };
  std::uint64_t gpu_bytes(const LayerWeight& slot) const {
    return slot.share_bytes * job_.row(slot.weight).shards.weight_ways();
  }
  GatherTarget target(const LayerWeight& slot, const Buffer& memory) const;
  /// Where ranks share it: an all-gather of everybody's `own` share.
  Op gather(const GatherTarget& target, const View& own, Op own_is_there);

 private:
  Machine& machine_;
  Rank rank_;
  const Job& job_;
};

}  // namespace spillway::strategies
