#pragma once

#include <cstddef>
#include <cstdint>

namespace spillway::hw_backend {

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
