#include "hw_backend/cuda/scratch.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "hw_backend/cuda/cuda_error.hpp"

namespace spillway::hw_backend {

std::byte* take_device_memory(std::uint64_t bytes, const char* what) {
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, bytes);
  if (result == cudaSuccess) return static_cast<std::byte*>(memory);
  static_cast<void>(cudaGetLastError());  // else the next launch reports it
  check(result, "cudaMalloc of " + std::to_string(bytes) + " bytes of " + what);
  return nullptr;
}

void free_device_memory(std::byte* memory) noexcept {
  // a fault that this returns has reached whoever waited for work, or nobody did
  if (memory) cudaFree(memory);
}

Scratch::~Scratch() { free_device_memory(memory_); }

std::byte* Scratch::take(std::uint64_t bytes) {
  if (DryRun::here()) {
    noted_ = std::max(noted_, bytes);
    return memory_;
  }
  if (bytes <= size_) return memory_;
  // cudaFree waits for the device, so nothing uses the old memory any more; it happens as often as
  // a larger shape than any before comes along
  free_device_memory(memory_);
  memory_ = nullptr;
  size_ = 0;
  memory_ = take_device_memory(bytes, "scratch");
  size_ = bytes;
  return memory_;
}

}  // namespace spillway::hw_backend
