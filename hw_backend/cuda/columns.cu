#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// The first element of this thread of the grid, and how many there are to the next.
__device__ std::uint64_t first_of_thread() {
  return std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
}
__device__ std::uint64_t threads_of_grid() { return std::uint64_t{gridDim.x} * block_threads; }

/// A thread a column.
__global__ void sum_columns(ChosenColumns chosen, Input x, float* sums) {
  for (std::uint64_t column = first_of_thread(); column < chosen.columns;
       column += threads_of_grid()) {
    float sum = 0;
    for (std::uint64_t row = 0; row < chosen.rows; ++row)
      sum += fabsf(get(x, row * chosen.columns + column));
    sums[column] = sum == sum ? sum : float_of(0x7F800000u);
  }
}

/// A thread a column: its place is the number of those that come before it.
__global__ void rank_columns(ChosenColumns chosen, const float* sums, std::uint32_t* indices) {
  for (std::uint64_t column = first_of_thread(); column < chosen.columns;
       column += threads_of_grid()) {
    const float own = sums[column];
    std::uint64_t before = 0;
    for (std::uint64_t other = 0; other < chosen.columns; ++other)
      before += sums[other] > own || (sums[other] == own && other < column) ? 1 : 0;
    if (before < chosen.count) indices[before] = static_cast<std::uint32_t>(column);
  }
}

/// A thread an element of the packed columns.
__global__ void move_columns(ChosenColumns chosen, Input from, Output into, bool out) {
  const std::uint64_t count = chosen.rows * chosen.count;
  for (std::uint64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
    const std::uint64_t place =
        i / chosen.count * chosen.columns + chosen.indices[i % chosen.count];
    put(into, out ? i : place, get(from, out ? place : i));
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::choose_columns(const ChosenColumns& chosen, Input x, float* sums,
                                    std::uint32_t* indices) {
  const std::uint64_t blocks = divided_up(chosen.columns, block_threads);
  launch(stream_, "sum_columns", on_device::sum_columns, blocks, chosen, x, sums);
  launch(stream_, "rank_columns", on_device::rank_columns, blocks, chosen, sums, indices);
}

void CudaPrimitives::take_columns(const ChosenColumns& chosen, Input x, Output packed) {
  launch(stream_, "take_columns", on_device::move_columns,
         divided_up(chosen.rows * chosen.count, block_threads), chosen, x, packed, true);
}

void CudaPrimitives::put_columns(const ChosenColumns& chosen, Input packed, Output x) {
  launch(stream_, "put_columns", on_device::move_columns,
         divided_up(chosen.rows * chosen.count, block_threads), chosen, packed, x, false);
}

}  // namespace spillway::hw_backend
