#include "hw_backend/arithmetic/host_multiply.hpp"

#include <cstddef>

namespace spillway::hw_backend {

namespace {

/// In place of Eigen's, which a bare machine does not have: sums in fp64.
void multiply(const Multiply& call) {
  const auto element = [](const Dense& matrix, std::uint64_t row, std::uint64_t column,
                          std::uint64_t rows, std::uint64_t columns) {
    return double{matrix.data[matrix.transposed ? column * rows + row : row * columns + column]};
  };
  for (std::uint64_t row = 0; row < call.rows; ++row)
    for (std::uint64_t column = 0; column < call.columns; ++column) {
      float& c = call.c[row * call.columns + column];
      double sum = call.add ? double{c} : 0;
      for (std::uint64_t i = 0; i < call.inner; ++i)
        sum += element(call.a, row, i, call.rows, call.inner) *
               element(call.b, i, column, call.inner, call.columns);
      c = static_cast<float>(sum);
    }
}

}  // namespace

MultiplyKernel* portable_multiply() { return multiply; }
MultiplyKernel* avx2_multiply() { return nullptr; }
MultiplyKernel* avx512_multiply() { return nullptr; }

}  // namespace spillway::hw_backend
