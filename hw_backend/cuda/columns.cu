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
  const std::uint64_t before = chosen.first % chosen.columns;
  for (std::uint64_t column = first_of_thread(); column < chosen.columns;
       column += threads_of_grid()) {
    float sum = 0;
    const std::uint64_t ahead =
        column < before ? column + chosen.columns - before : column - before;
    for (std::uint64_t at = chosen.first + ahead; at < chosen.end(); at += chosen.columns)
      sum += fabsf(get(x, at - chosen.first));
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
__global__ void take_columns(ChosenColumns chosen, Input x, Output packed) {
  for (std::uint64_t i = first_of_thread(); i < chosen.shares * chosen.stride;
       i += threads_of_grid()) {
    const std::uint64_t place = chosen.place(i);
    put(packed, i, place == ChosenColumns::nowhere ? 0.0f : get(x, place));
  }
}

__global__ void put_columns(ChosenColumns chosen, Input packed, Output x) {
  for (std::uint64_t i = first_of_thread(); i < chosen.shares * chosen.stride;
       i += threads_of_grid()) {
    const std::uint64_t place = chosen.place(i);
    if (place != ChosenColumns::nowhere) put(x, place, get(packed, i));
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::sum_columns(const ChosenColumns& chosen, Input x, float* sums) {
  launch(stream_, "sum_columns", on_device::sum_columns, divided_up(chosen.columns, block_threads),
         chosen, x, sums);
}

void CudaPrimitives::choose_columns(const ChosenColumns& chosen, const float* sums,
                                    std::uint32_t* indices) {
  launch(stream_, "choose_columns", on_device::rank_columns,
         divided_up(chosen.columns, block_threads), chosen, sums, indices);
}

void CudaPrimitives::take_columns(const ChosenColumns& chosen, Input x, Output packed) {
  launch(stream_, "take_columns", on_device::take_columns,
         divided_up(chosen.shares * chosen.stride, block_threads), chosen, x, packed);
}

void CudaPrimitives::put_columns(const ChosenColumns& chosen, Input packed, Output x) {
  launch(stream_, "put_columns", on_device::put_columns,
         divided_up(chosen.shares * chosen.stride, block_threads), chosen, packed, x);
}

}  // namespace spillway::hw_backend
