#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace spillway::hw_backend {

/// Memory of one physical device, shared by all ranks on it. What is given back is kept for the
/// next request of its size, since cudaFree waits for the device; when the device is full, all that
/// is kept goes back first. Plain cudaMalloc: peers and GPUDirect Storage can reach it.
class DeviceMemory {
 public:
  explicit DeviceMemory(int device) : device_(device) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;

  /// Aligned to 256 bytes.
  ///   Throws  DeviceError when the device has no more
  std::byte* take(std::uint64_t bytes);
  void give_back(std::byte* memory, std::uint64_t bytes) noexcept;

  /// The one of `device`, for as long as somebody has it.
  static std::shared_ptr<DeviceMemory> of(int device);

 private:
  void free_kept();

  int device_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<std::byte*>> kept_by_size_;
};

}  // namespace spillway::hw_backend
