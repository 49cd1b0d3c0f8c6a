#pragma once

#include "hw_backend/cuda/rows.cuh"

namespace spillway::hw_backend::on_device {

/// Rows of 8192 elements are read once.
inline constexpr unsigned softmax_held = 4;
using SoftmaxInput = HeldRow<softmax_held>;

/// Of a row's values, scaled: their largest, and the sum of exp(value - largest).
struct SoftmaxRow {
  float largest, sum;
};

/// Of the `count` > 0 first elements of x, by a whole block; all threads get it.
__device__ inline SoftmaxRow softmax_row(const SoftmaxInput& x, std::uint64_t count, float scale,
                                         float* shared) {
  float largest = -INFINITY;
  for_held_row<softmax_held>(count, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
    const Eight v = x.get(round, i, some);
    for (unsigned k = 0; k < 8; ++k)
      if (k < some) largest = fmaxf(largest, v.value[k] * scale);
  });
  largest = block_largest(largest, shared);
  float sum = 0;
  for_held_row<softmax_held>(count, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
    const Eight v = x.get(round, i, some);
    for (unsigned k = 0; k < 8; ++k)
      if (k < some) sum += expf(v.value[k] * scale - largest);
  });
  return {largest, block_sum(sum, shared)};
}

}  // namespace spillway::hw_backend::on_device
