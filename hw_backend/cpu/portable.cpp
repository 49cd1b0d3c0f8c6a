#include "hw_backend/cpu/vector_kernels.hpp"

namespace spillway::hw_backend {

namespace {

struct Portable : One {
  static void fence() {}
  static void copy(std::byte* into, const std::byte* from, std::size_t bytes) {
    std::memcpy(into, from, bytes);
  }
  /// Of the 4096 bytes at `data`.
  template <class Bits>
  static bool any_has_all(const std::byte* data, Bits exponent) {
    bool found = false;
    for (std::size_t i = 0; i < 4096 / sizeof(Bits); ++i) {
      found |= (bits_at<Bits>(data, i) & exponent) == exponent;
    }
    return found;
  }
};

}  // namespace

const Kernels* portable_kernels() { return &kernels_of<Portable>; }

}  // namespace spillway::hw_backend
