#include "hw_backend/cuda/scratch.hpp"

#include "hw_backend/cuda/cuda_error.hpp"

namespace spillway::hw_backend {

Scratch::~Scratch() {
  if (memory_) cudaFree(memory_);
}

std::byte* Scratch::take(std::uint64_t bytes) {
  if (bytes <= size_) return memory_;
  // cudaFree waits for the device, so nothing uses the old memory any more; it happens as often as
  // a larger shape than any before comes along
  if (memory_) check(cudaFree(memory_), "cudaFree");
  memory_ = nullptr;
  size_ = 0;
  void* taken = nullptr;
  check(cudaMalloc(&taken, bytes), "cudaMalloc of " + std::to_string(bytes) + " bytes of scratch");
  memory_ = static_cast<std::byte*>(taken);
  size_ = bytes;
  return memory_;
}

}  // namespace spillway::hw_backend
