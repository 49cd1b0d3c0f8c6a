#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// A matrix as Adafactor sees it; `sums` of rows, then three of all: of row_means, of the squares
/// of masters and of updates.
struct Factored {
  Output master;
  Input before;  ///< the same masters, to be read
  Input gradient;
  Output weight;  ///< no data: there is none
  std::uint64_t rows, columns;
  float *row_means, *column_means, *squares, *sums;
  AdafactorScalars s;

  __device__ float unscaled(std::uint64_t i) const {
    return get8(gradient, i, 1).value[0] * s.inverse_scale;
  }
  __device__ float of_master(std::uint64_t i) const { return get8(before, i, 1).value[0]; }
  __device__ float update(std::uint64_t i) const {
    if (!row_means) return adafactor_update(unscaled(i), squares[i]);
    const float rows_mean = sums[rows] / static_cast<float>(rows);
    const float mean = rows_mean > s.least_square ? rows_mean : s.least_square;
    return adafactor_update(unscaled(i), row_means[i / columns] * column_means[i % columns] / mean);
  }
  __device__ float averaged(float kept, float sum, std::uint64_t over) const {
    return s.keep * kept + s.rest * (sum / static_cast<float>(over));
  }
};

enum class Squares { gradient, master, update };

__device__ float value_of(const Factored& a, Squares what, std::uint64_t i) {
  return what == Squares::gradient ? a.unscaled(i)
         : what == Squares::master ? a.of_master(i)
                                   : a.update(i);
}

/// sums [rows] = of the squares of each row; of gradients they go into row_means at once.
__global__ void sum_row_squares(Factored a, Squares what) {
  __shared__ float shared[block_threads];
  for (std::uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    float sum = 0;
    for (std::uint64_t i = threadIdx.x; i < a.columns; i += block_threads) {
      const float value = value_of(a, what, row * a.columns + i);
      sum += value * value;
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x != 0) continue;
    if (what == Squares::gradient)
      a.row_means[row] = a.averaged(a.row_means[row], sum, a.columns);
    else
      a.sums[row] = sum;
  }
}

__global__ void average_columns(Factored a) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t column = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       column < a.columns; column += stride) {
    float sum = 0;
    for (std::uint64_t row = 0; row < a.rows; ++row) {
      const float value = a.unscaled(row * a.columns + column);
      sum += value * value;
    }
    a.column_means[column] = a.averaged(a.column_means[column], sum, a.rows);
  }
}

__global__ void average_elements(Factored a) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       i < a.rows * a.columns; i += stride) {
    const float value = a.unscaled(i);
    a.squares[i] = a.averaged(a.squares[i], value * value, 1);
  }
}

/// *into = the sum of values [count]; by one block.
__global__ void sum_values(const float* values, std::uint64_t count, float* into) {
  __shared__ float shared[block_threads];
  float sum = 0;
  for (std::uint64_t i = threadIdx.x; i < count; i += block_threads) sum += values[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *into = sum;
}

__global__ void apply_update(Factored a) {
  const std::uint64_t n = a.rows * a.columns;
  const float rate = adafactor_rate(a.s, a.sums[a.rows + 1], a.sums[a.rows + 2], n);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * 8;
       first < n; first += stride) {
    const std::uint64_t count = n - first < 8 ? n - first : 8;
    Eight master = get8(a.before, first, count);
    SPILLWAY_UNROLL
    for (unsigned i = 0; i < 8; ++i)
      if (i < count)
        master.value[i] =
            with_canonical_nan(a.s.decay * master.value[i] - rate * a.update(first + i));
    put8(a.master, first, count, master);
    if (a.weight.data) put8(a.weight, first, count, master);
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::adafactor(const AdafactorArrays& arrays, const AdafactorScalars& scalars) {
  using on_device::Squares;
  const auto written = [](const Array& of) { return Output{of.data, of.type, false}; };
  const std::uint64_t n = arrays.rows * arrays.columns;
  float* const sums = reinterpret_cast<float*>(rows_.take((arrays.rows + 3) * sizeof(float)));
  on_device::Factored a = {};
  a.master = written(arrays.master);
  a.before = arrays.master;
  a.gradient = arrays.gradient;
  if (arrays.weight) a.weight = written(*arrays.weight);
  a.rows = arrays.rows;
  a.columns = arrays.columns;
  a.row_means = arrays.row_means;
  a.column_means = arrays.column_means;
  a.squares = arrays.squares;
  a.sums = sums;
  a.s = scalars;
  const auto sum_rows_of = [&](Squares what) {
    launch(stream_, "adafactor rows", on_device::sum_row_squares, arrays.rows, a, what);
  };
  const auto total = [&](const float* values, float* into) {
    launch(stream_, "adafactor sum", on_device::sum_values, 1, values, arrays.rows, into);
  };
  if (arrays.row_means) {
    sum_rows_of(Squares::gradient);
    launch(stream_, "adafactor columns", on_device::average_columns,
           divided_up(arrays.columns, block_threads), a);
    total(arrays.row_means, sums + arrays.rows);
  } else {
    launch(stream_, "adafactor averages", on_device::average_elements, divided_up(n, block_threads),
           a);
  }
  sum_rows_of(Squares::master);
  total(sums, sums + arrays.rows + 1);
  sum_rows_of(Squares::update);
  total(sums, sums + arrays.rows + 2);
  launch(stream_, "adafactor", on_device::apply_update, divided_up(n, on_device::block_elements),
         a);
}

}  // namespace spillway::hw_backend
