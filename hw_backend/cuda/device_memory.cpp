#include "hw_backend/cuda/device_memory.hpp"

#include <algorithm>
#include <string>

#include "hw_backend/cuda/cuda_error.hpp"

namespace spillway::hw_backend {

namespace {

/// What CUDA's own granularity is, so that sizes that it would not tell apart share blocks.
std::uint64_t rounded(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + 511) / 512 * 512;
}

}  // namespace

DeviceMemory::~DeviceMemory() { free_kept(); }

void DeviceMemory::free_kept() {
  // at the end of the process the driver may be gone, and the memory with it
  if (cudaSetDevice(device_) != cudaSuccess) return;
  for (const auto& [bytes, kept] : kept_by_size_)
    for (std::byte* memory : kept) cudaFree(memory);
  kept_by_size_.clear();
}

std::byte* DeviceMemory::take(std::uint64_t asked) {
  const std::uint64_t bytes = rounded(asked);
  const std::lock_guard lock(mutex_);
  const auto kept = kept_by_size_.find(bytes);
  if (kept != kept_by_size_.end() && !kept->second.empty()) {
    std::byte* const memory = kept->second.back();
    kept->second.pop_back();
    return memory;
  }
  check(cudaSetDevice(device_), "cudaSetDevice");
  void* memory = nullptr;
  cudaError_t result = cudaMalloc(&memory, bytes);
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // else the next launch reports it
    free_kept();
    result = cudaMalloc(&memory, bytes);
  }
  if (result != cudaSuccess) static_cast<void>(cudaGetLastError());
  check(result, "cudaMalloc of " + std::to_string(bytes) + " bytes");
  return static_cast<std::byte*>(memory);
}

void DeviceMemory::give_back(std::byte* memory, std::uint64_t asked) noexcept {
  const std::lock_guard lock(mutex_);
  kept_by_size_[rounded(asked)].push_back(memory);
}

std::shared_ptr<DeviceMemory> DeviceMemory::of(int device) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<DeviceMemory>> all;
  const std::lock_guard lock(mutex);
  std::shared_ptr<DeviceMemory> memory = all[device].lock();
  if (!memory) all[device] = memory = std::make_shared<DeviceMemory>(device);
  return memory;
}

}  // namespace spillway::hw_backend
