#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "hw_backend/cuda/cuda_error.hpp"
#include "hw_backend/cuda/scratch.hpp"

namespace spillway::hw_backend {

/// Threads of every block. Sums over a block depend on it.
inline constexpr unsigned block_threads = 256;

/// Enqueues `blocks` blocks of `kernel`, or fewer that do all the work: kernels stride by the grid.
///   name    for errors
///   Throws  DeviceError; also for the fault of an earlier kernel
template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, const char* name, void (*kernel)(Parameters...),
            std::uint64_t blocks, Arguments... arguments) {
  if (blocks == 0 || DryRun::here()) return;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(std::min<std::uint64_t>(blocks, 1u << 20)));
  config.blockDim = dim3(block_threads);
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
}

inline std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

namespace on_device {

/// Elements that the threads of a block take at once, each eight neighbours.
inline constexpr unsigned block_elements = 8 * block_threads;

/// Calls work(first, count) for the eights of `count` elements that are this thread's of the block.
template <class Work>
__device__ void for_eights_of_row(std::uint64_t count, const Work& work) {
  for (std::uint64_t first = 8 * threadIdx.x; first < count; first += block_elements)
    work(first, count - first < 8 ? count - first : 8);
}

/// combine(...) of all threads' values, as a tree whose shape never changes; all threads get it.
///   shared  [block_threads]; may be used again at once
template <class Value, class Combine>
__device__ Value over_block(Value value, Value* shared, const Combine& combine) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  const Value all = shared[0];
  __syncthreads();
  return all;
}

template <class Value>
__device__ Value block_sum(Value value, Value* shared) {
  return over_block(value, shared, [](Value a, Value b) { return a + b; });
}
__device__ inline float block_largest(float value, float* shared) {
  return over_block(value, shared, [](float a, float b) { return a > b ? a : b; });
}

}  // namespace on_device

}  // namespace spillway::hw_backend
