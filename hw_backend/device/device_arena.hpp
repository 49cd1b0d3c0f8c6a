#pragma once

#include "hw_backend/device/device.hpp"
#include "strategies/memory/extents.hpp"

namespace spillway::hw_backend {

/// The memory of a device that one rank's buffers lie in: taken once, so that no step waits for an
/// allocator, peers reach all of it and GPUDirect Storage knows it. Large blocks lie at its begin,
/// small ones at its end, so that what is small and stays does not cut up what is large.
class DeviceArena {
 public:
  /// What blocks begin at and are rounded to. Products have the same bits wherever they lie.
  static constexpr std::uint64_t unit = 512;
  static constexpr std::uint64_t large = 1u << 20;

  /// `bytes`, or what the device has left; `device` outlives it.
  ///   Throws  DeviceError
  DeviceArena(Device& device, std::uint64_t bytes);
  ~DeviceArena() { device_.free(base_, space_.capacity()); }
  DeviceArena(const DeviceArena&) = delete;

  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return space_.capacity(); }
  /// Throws  DeviceError: no piece is so large, with what is free
  std::byte* take(std::uint64_t bytes);
  void give_back(const std::byte* memory, std::uint64_t bytes);

 private:
  Device& device_;
  strategies::DriveSpace space_;
  std::byte* base_;
};

}  // namespace spillway::hw_backend
