#pragma once

#include <cstdint>

namespace spillway::hw_backend {

/// A dense row-major matrix, aligned to 64 bytes, used as it is or transposed.
struct Dense {
  const float* data = nullptr;
  bool transposed = false;
};

/// c [rows, columns] = a [rows, inner] b [inner, columns], or += ; c dense, aligned to 64 bytes.
/// The order of the sums follows from the sizes.
struct Multiply {
  Dense a, b;
  float* c = nullptr;
  bool add = false;
  std::uint64_t rows = 0, columns = 0, inner = 0;
};
void multiply(const Multiply& call);

}  // namespace spillway::hw_backend
