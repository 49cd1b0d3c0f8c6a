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

/// While one lives, the calling thread's work goes through what it would do and does nothing: no
/// kernel, copy or product begins, and Scratch notes what it is asked for.
class DryRun {
 public:
  DryRun() { ++depth_; }
  ~DryRun() { --depth_; }
  DryRun(const DryRun&) = delete;
  static bool here() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

/// Device memory for intermediate values of one stream; grows to the largest request and stays.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;

  /// Aligned to 256 bytes. What an earlier call gave is void. In a DryRun what there is, which may
  /// be less.
  ///   Throws  DeviceError
  std::byte* take(std::uint64_t bytes);
  /// Takes what DryRuns asked for.
  ///   Throws  DeviceError
  void take_noted() { take(noted_); }

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t size_ = 0, noted_ = 0;
};

}  // namespace spillway::hw_backend
