#pragma once

#include <cstddef>
#include <cstdint>

namespace spillway::hw_backend {

/// Memory of the calling thread's device: plain cudaMalloc, which peers and GPUDirect Storage
/// reach.
///   what    "scratch", for the error
///   Result  aligned to 256 bytes
///   Throws  DeviceError when the device has no more
std::byte* take_device_memory(std::uint64_t bytes, const char* what);
/// Waits for the device. At the end of the process the driver may be gone, and the memory with it.
void free_device_memory(std::byte* memory) noexcept;

/// Device memory for intermediate values of one stream; grows to the largest request and stays.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;

  /// Aligned to 256 bytes. What an earlier call gave is void.
  ///   Throws  DeviceError
  std::byte* take(std::uint64_t bytes);

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace spillway::hw_backend
