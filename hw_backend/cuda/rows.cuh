#pragma once

#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend::on_device {

/// A row that a block reads more than once: each thread keeps its eights of the first `held` rounds
/// of block_elements in registers, and loads those of longer rows again.
template <unsigned held>
class HeldRow {
 public:
  /// Elements [first, first + count) of x.
  __device__ HeldRow(const Input& x, std::uint64_t first, std::uint64_t count)
      : x_(x), first_(first) {
    SPILLWAY_UNROLL
    for (unsigned round = 0; round < held; ++round) {
      const std::uint64_t i = 8 * threadIdx.x + round * block_elements;
      raw_[round] = i < count ? raw8(x, first + i, count - i) : Raw8{};
    }
  }
  /// The eight at element i of the row, which is this thread's in `round`.
  __device__ Eight get(unsigned round, std::uint64_t i, std::uint64_t some) const {
    return round < held ? widened8(x_.type, raw_[round]) : get8(x_, first_ + i, some);
  }

 private:
  Input x_;
  std::uint64_t first_;
  Raw8 raw_[held];
};

/// Calls work(round, first, count) for the eights of `count` elements that are this thread's.
template <unsigned held, class Work>
__device__ void for_held_row(std::uint64_t count, const Work& work) {
  SPILLWAY_UNROLL
  for (unsigned round = 0; round < held; ++round) {
    const std::uint64_t i = 8 * threadIdx.x + round * block_elements;
    if (i < count) work(round, i, count - i < 8 ? count - i : 8);
  }
  for (std::uint64_t i = 8 * threadIdx.x + held * block_elements; i < count; i += block_elements)
    work(held, i, count - i < 8 ? count - i : 8);
}

}  // namespace spillway::hw_backend::on_device
