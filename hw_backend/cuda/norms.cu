#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

// Of sums over rows: columns side by side, and strands of rows that are added as a tree.
constexpr unsigned strip = 32, strands = block_threads / strip;

/// One block a row.
__global__ void norm(Norm norm, Input x, Input weight, Input bias, float* statistics, Output y) {
  __shared__ float shared[block_threads];
  const std::uint64_t n = norm.width;
  const bool centred = norm.kind == NormKind::layer;
  const float count = static_cast<float>(n);
  float* const inverses = statistics + (centred ? norm.rows : 0);
  for (std::uint64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    float sum = 0;
    if (centred)
      for_fours_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
        const Four v = get4(x, row * n + i, some);
        for (int k = 0; k < 4; ++k) sum += v.value[k];
      });
    const float mean = centred ? block_sum(sum, shared) / count : 0.0f;
    float squares = 0;
    for_fours_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      const Four v = get4(x, row * n + i, some);
      for (std::uint64_t k = 0; k < some; ++k) squares += (v.value[k] - mean) * (v.value[k] - mean);
    });
    const float inverse = 1.0f / sqrtf(block_sum(squares, shared) / count + norm.epsilon);
    for_fours_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Four v = get4(x, row * n + i, some);
      const Four w = get4(weight, i, some);
      const Four b = bias.data ? get4(bias, i, some) : Four{};
      for (int k = 0; k < 4; ++k)
        v.value[k] = (v.value[k] - mean) * inverse * w.value[k] + b.value[k];
      put4(y, row * n + i, some, v);
    });
    if (threadIdx.x == 0) {
      if (centred) statistics[row] = mean;
      inverses[row] = inverse;
    }
  }
}

/// What a row's norm multiplied and took away.
struct RowNorm {
  float mean, inverse;
};
__device__ RowNorm row_norm(const Norm& norm, const float* statistics, std::uint64_t row) {
  if (norm.kind == NormKind::layer) return {statistics[row], statistics[norm.rows + row]};
  return {0.0f, statistics[row]};
}

/// x's gradient, one block a row. With z = (x - mean) / deviation and g = weight x y's gradient:
/// (g - mean(g) - z mean(g z)) / deviation; without a mean, without its term.
__global__ void norm_backward(Norm norm, Input y_gradient, Input x, const float* statistics,
                              Input weight, Output x_gradient) {
  __shared__ float shared[block_threads];
  const std::uint64_t n = norm.width;
  const float count = static_cast<float>(n);
  for (std::uint64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const RowNorm by = row_norm(norm, statistics, row);
    float along = 0, sum = 0;
    for_fours_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      const Four dy = get4(y_gradient, row * n + i, some), v = get4(x, row * n + i, some);
      const Four w = get4(weight, i, some);
      for (int k = 0; k < 4; ++k) {
        const float g = dy.value[k] * w.value[k];
        along += g * ((v.value[k] - by.mean) * by.inverse);
        sum += g;
      }
    });
    along = block_sum(along, shared) / count;
    const float shift = norm.kind == NormKind::layer ? block_sum(sum, shared) / count : 0.0f;
    for_fours_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      const Four dy = get4(y_gradient, row * n + i, some), v = get4(x, row * n + i, some);
      Four g = get4(weight, i, some);
      for (int k = 0; k < 4; ++k) {
        const float z = (v.value[k] - by.mean) * by.inverse;
        g.value[k] = (dy.value[k] * g.value[k] - shift - z * along) * by.inverse;
      }
      put4(x_gradient, row * n + i, some, g);
    });
  }
}

/// sum [width] = over the rows of term(row, column): `strip` columns a block, rows in strands.
template <class Term>
__global__ void sum_rows(std::uint64_t rows, std::uint64_t width, Output sum, Term term) {
  __shared__ float shared[strands][strip];
  const unsigned lane = threadIdx.x % strip, strand = threadIdx.x / strip;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * strip; first < width;
       first += std::uint64_t{gridDim.x} * strip) {
    const std::uint64_t column = first + lane;
    float value = 0;
    if (column < width)
      for (std::uint64_t row = strand; row < rows; row += strands)
        value += term(row, row * width + column, column);
    shared[strand][lane] = value;
    __syncthreads();
    for (unsigned half = strands / 2; half > 0; half /= 2) {
      if (strand < half) shared[strand][lane] += shared[strand + half][lane];
      __syncthreads();
    }
    if (strand == 0 && column < width) put(sum, column, shared[0][lane]);
    __syncthreads();
  }
}

struct Own {
  Input x;
  __device__ float operator()(std::uint64_t, std::uint64_t at, std::uint64_t) const {
    return get(x, at);
  }
};

struct TimesNormed {
  Norm norm;
  Input y_gradient, x;
  const float* statistics;
  __device__ float operator()(std::uint64_t row, std::uint64_t at, std::uint64_t) const {
    const RowNorm by = row_norm(norm, statistics, row);
    return get(y_gradient, at) * ((get(x, at) - by.mean) * by.inverse);
  }
};

template <class Term>
void start_sum(cudaStream_t stream, const char* name, std::uint64_t rows, std::uint64_t width,
               const Output& sum, const Term& term) {
  launch(stream, name, sum_rows<Term>, divided_up(width, strip), rows, width, sum, term);
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::norm(const Norm& norm, Input x, Input weight, Input bias, float* statistics,
                          Output y) {
  launch(stream_, "norm", on_device::norm, norm.rows, norm, x, weight, bias, statistics, y);
}

void CudaPrimitives::norm_backward(const Norm& norm, Input y_gradient, Input x,
                                   const float* statistics, Input weight, Output x_gradient,
                                   Output weight_gradient, Output bias_gradient) {
  // the sums first: x_gradient may lie where y_gradient does
  on_device::start_sum(stream_, "norm_backward", norm.rows, norm.width, weight_gradient,
                       on_device::TimesNormed{norm, y_gradient, x, statistics});
  if (bias_gradient.data) sum_rows(norm.rows, norm.width, y_gradient, bias_gradient);
  launch(stream_, "norm_backward", on_device::norm_backward, norm.rows, norm, y_gradient, x,
         statistics, weight, x_gradient);
}

void CudaPrimitives::sum_rows(std::uint64_t rows, std::uint64_t width, Input x, Output sum) {
  on_device::start_sum(stream_, "sum_rows", rows, width, sum, on_device::Own{x});
}

}  // namespace spillway::hw_backend
