#pragma once

#include "hw_backend/cpu/isa.hpp"

#include <cstdint>

namespace spillway::hw_backend {

/// A dense row-major matrix, aligned to 64 bytes, used as it is or transposed.
struct Dense {
  const float* data = nullptr;
  bool transposed = false;
};

/// c [rows, columns] = a [rows, inner] b [inner, columns], or += ; c dense, aligned to 64 bytes.
/// The order of the sums follows from the sizes and the instruction set.
struct Multiply {
  Dense a, b;
  float* c = nullptr;
  bool add = false;
  std::uint64_t rows = 0, columns = 0, inner = 0;
};
using MultiplyKernel = void(const Multiply& call);

// Null where the compiler does not know the instruction set.
MultiplyKernel* portable_multiply();
MultiplyKernel* avx2_multiply();
MultiplyKernel* avx512_multiply();

/// The fastest that this processor runs among those up to `isa`.
MultiplyKernel* multiply_kernel(Isa isa);

}  // namespace spillway::hw_backend
