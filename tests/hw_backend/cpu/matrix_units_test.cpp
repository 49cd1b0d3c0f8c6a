#include "hw_backend/cpu/matrix_units.hpp"
#include "hw_backend/cpu/element.hpp"

#include <gtest/gtest.h>
#include <cmath>

namespace spillway::hw_backend::matrix_units_test {
namespace {

/// Small whole numbers, whose products and sums are exact in bf16 and fp32.
float value(std::uint64_t i) { return static_cast<float>(i * 2654435761u % 7) - 3.0f; }

std::uint16_t narrow(float number) { return fp32_to_bf16(number); }

TEST(MatrixUnits, MultiplyAsALoopDoes) {
  constexpr std::uint64_t rows = 64, columns = 96, inner = 160;
  std::vector<std::uint16_t> a(rows * inner), b(inner * columns);
  for (std::uint64_t i = 0; i < rows * inner; ++i) a[i] = narrow(value(i));
  for (std::uint64_t k = 0; k < inner; ++k)
    for (std::uint64_t column = 0; column < columns; ++column)
      b[k / 2 * 2 * columns + 2 * column + k % 2] = narrow(value(1000 + k * columns + column));
  if (available_matrix_units().empty()) GTEST_SKIP() << "SKIP no such unit in this processor";
  for (const MatrixUnit unit : available_matrix_units()) {
    SCOPED_TRACE(to_string(unit));
    std::vector<float> c(rows * columns, NAN);
    multiply(unit, {a.data(), b.data(), c.data(), rows, columns, inner});
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::uint64_t column = 0; column < columns; ++column) {
        float sum = 0;
        for (std::uint64_t k = 0; k < inner; ++k)
          sum += value(row * inner + k) * value(1000 + k * columns + column);
        ASSERT_EQ(c[row * columns + column], sum) << row << ", " << column;
      }
  }
}

}  // namespace
}  // namespace spillway::hw_backend::matrix_units_test
