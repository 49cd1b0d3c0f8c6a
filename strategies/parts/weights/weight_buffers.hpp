#pragma once

#include "strategies/layout/weight_layout.hpp"
#include "strategies/machine/pool.hpp"

#include <memory>

namespace spillway::strategies {

/// Pinned host buffers of one rank that weights pass on their way from storage to the GPU.
class WeightBuffers {
 public:
  virtual ~WeightBuffers() = default;
  /// Waits for a buffer that has room for the rank's share of `weight`, in whole sectors. It comes
  /// back when the last operation that uses it has ended.
  virtual Task<Buffer> take(std::uint32_t weight) = 0;
};

/// The buffers that `weights.pool` names, of a kind that takes reads.
///   Throws  OutOfMemory
std::unique_ptr<WeightBuffers> make_weight_buffers(Machine& machine, Rank rank, const Job& job,
                                                   const WeightLayout& layout);

}  // namespace spillway::strategies
