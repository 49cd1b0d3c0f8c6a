#include "hw_backend/arithmetic/host_map.hpp"

namespace spillway::hw_backend {

namespace {

// Of products: their scratch is 256 x 1024, 1024 x 512 and 256 x 512 elements, 3.5 MiB.
constexpr std::uint64_t row_block = 256, column_block = 512, inner_block = 1024;

struct Range {
  std::uint64_t first, count;
};

Range part(std::uint64_t first, std::uint64_t block, std::uint64_t whole) {
  return {first, std::min(block, whole - first)};
}

/// The places of a block in memory: rows as they are stored.
struct Stored {
  Range rows, columns;
};

Stored stored(const MatrixInput& matrix, Range rows, Range columns) {
  return matrix.transposed ? Stored{columns, rows} : Stored{rows, columns};
}

}  // namespace

void HostPrimitives::load_rows(Input x, std::uint64_t first, std::uint64_t stride, std::size_t rows,
                               std::size_t width, float* into) {
  if (stride == width) return widen_into(x, first, rows * width, into);
  for (std::size_t row = 0; row < rows; ++row)
    widen_into(x, first + row * stride, width, into + row * width);
}

void HostPrimitives::store_rows(float* rows_of, Output y, std::uint64_t first, std::uint64_t stride,
                                std::size_t rows, std::size_t width) {
  if (stride == width) return narrow(rows_of, y, first, rows * width);
  for (std::size_t row = 0; row < rows; ++row)
    narrow(rows_of + row * width, y, first + row * stride, width);
}

void HostPrimitives::product(const Product& call) {
  const auto [a, b, c] = scratch_.take<3>(
      {row_block * inner_block, inner_block * column_block, row_block * column_block});
  const auto load = [&](const MatrixInput& from, std::uint64_t matrix, Range rows, Range columns,
                        float* into) {
    const Stored at = stored(from, rows, columns);
    load_rows(from.values,
              matrix * from.batch_stride + at.rows.first * from.stride + at.columns.first,
              from.stride, at.rows.count, at.columns.count, into);
  };
  for (std::uint64_t matrix = 0; matrix < call.batch; ++matrix)
    for (std::uint64_t row = 0; row < call.rows; row += row_block)
      for (std::uint64_t column = 0; column < call.columns; column += column_block) {
        const Range rows = part(row, row_block, call.rows);
        const Range columns = part(column, column_block, call.columns);
        for (std::uint64_t k = 0; k < call.inner; k += inner_block) {
          const Range inner = part(k, inner_block, call.inner);
          load(call.a, matrix, rows, inner, a);
          load(call.b, matrix, inner, columns, b);
          multiply_({{a, call.a.transposed},
                     {b, call.b.transposed},
                     c,
                     k > 0,
                     rows.count,
                     columns.count,
                     inner.count});
        }
        if (call.scale != 1)
          for (std::uint64_t i = 0; i < rows.count * columns.count; ++i) c[i] *= call.scale;
        store_rows(c, call.c.values, matrix * call.c.batch_stride + row * call.c.stride + column,
                   call.c.stride, rows.count, columns.count);
      }
}

void HostPrimitives::add_bias(std::uint64_t rows, std::uint64_t width, Input bias, Output y) {
  const auto [wide, values] = scratch_.take<2>({width, width});
  const float* const b = widen(bias, 0, width, wide);
  for (std::uint64_t row = 0; row < rows; ++row) {
    widen_into(y.read(), row * width, width, values);
    for (std::uint64_t i = 0; i < width; ++i) values[i] += b[i];
    narrow(values, {y.data, y.type}, row * width, width);
  }
}

void HostPrimitives::sum_rows(std::uint64_t rows, std::uint64_t width, Input x, Output sum) {
  const auto [wide, values] = scratch_.take<2>({width, width});
  std::fill_n(values, width, 0.0f);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const float* const from = widen(x, row * width, width, wide);
    for (std::uint64_t i = 0; i < width; ++i) values[i] += from[i];
  }
  narrow(values, sum, 0, width);
}

}  // namespace spillway::hw_backend
