#pragma once

#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend::on_device {

/// Of a row's values, scaled: their largest, and the sum of exp(value - largest).
struct SoftmaxRow {
  float largest, sum;
};

/// Of `count` > 0 elements of x from `first` on, by a whole block; all threads get it.
__device__ inline SoftmaxRow softmax_row(const Input& x, std::uint64_t first, std::uint64_t count,
                                         float scale, float* shared) {
  float largest = -INFINITY;
  for_fours_of_row(count, [&](std::uint64_t i, std::uint64_t some) {
    const Four v = get4(x, first + i, some);
    for (std::uint64_t k = 0; k < some; ++k) largest = fmaxf(largest, v.value[k] * scale);
  });
  largest = block_largest(largest, shared);
  float sum = 0;
  for_fours_of_row(count, [&](std::uint64_t i, std::uint64_t some) {
    const Four v = get4(x, first + i, some);
    for (std::uint64_t k = 0; k < some; ++k) sum += expf(v.value[k] * scale - largest);
  });
  return {largest, block_sum(sum, shared)};
}

}  // namespace spillway::hw_backend::on_device
