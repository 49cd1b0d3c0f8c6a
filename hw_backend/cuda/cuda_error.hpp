#pragma once

#include <cuda_runtime.h>

#include <string>

namespace spillway::hw_backend {

/// "cudaErrorMemoryAllocation, out of memory"
std::string in_words(cudaError_t result);

/// Nothing, or a DeviceError: "cudaMalloc: cudaErrorMemoryAllocation, out of memory, on CUDA device
/// 0". The device is the calling thread's.
void check(cudaError_t result, const std::string& call);

}  // namespace spillway::hw_backend
