#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/rows.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// Rows of 4096 elements are read once.
constexpr unsigned norm_held = 2;
using NormInput = HeldRow<norm_held>;

/// One block a row.
__global__ void norm(Norm norm, Input x, Input weight, Input bias, float* statistics, Output y) {
  __shared__ float shared[block_threads];
  const std::uint64_t n = norm.width;
  const bool centred = norm.kind == NormKind::layer;
  const float count = static_cast<float>(n);
  float* const inverses = statistics + (centred ? norm.rows : 0);
  for (std::uint64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const NormInput held(x, row * n, n);
    float sum = 0;
    if (centred)
      for_held_row<norm_held>(n, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
        const Eight v = held.get(round, i, some);
        for (int k = 0; k < 8; ++k) sum += v.value[k];
      });
    const float mean = centred ? block_sum(sum, shared) / count : 0.0f;
    float squares = 0;
    for_held_row<norm_held>(n, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
      const Eight v = held.get(round, i, some);
      for (unsigned k = 0; k < 8; ++k)
        if (k < some) squares += (v.value[k] - mean) * (v.value[k] - mean);
    });
    const float inverse = 1.0f / sqrtf(block_sum(squares, shared) / count + norm.epsilon);
    for_held_row<norm_held>(n, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
      Eight v = held.get(round, i, some);
      const Eight w = weight.data ? get8(weight, i, some) : Eight{};
      const Eight b = bias.data ? get8(bias, i, some) : Eight{};
      for (int k = 0; k < 8; ++k) {
        v.value[k] = (v.value[k] - mean) * inverse;
        if (weight.data) v.value[k] = v.value[k] * w.value[k] + b.value[k];
      }
      put8(y, row * n + i, some, v);
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
    const NormInput gradients(y_gradient, row * n, n), inputs(x, row * n, n);
    float row_dot = 0, sum = 0;
    for_held_row<norm_held>(n, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
      const Eight dy = gradients.get(round, i, some), v = inputs.get(round, i, some);
      const Eight w = get8(weight, i, some);
      for (int k = 0; k < 8; ++k) {
        const float g = dy.value[k] * w.value[k];
        row_dot += g * ((v.value[k] - by.mean) * by.inverse);
        sum += g;
      }
    });
    row_dot = block_sum(row_dot, shared) / count;
    const float shift = norm.kind == NormKind::layer ? block_sum(sum, shared) / count : 0.0f;
    for_held_row<norm_held>(n, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
      const Eight dy = gradients.get(round, i, some), v = inputs.get(round, i, some);
      Eight g = get8(weight, i, some);
      for (int k = 0; k < 8; ++k) {
        const float z = (v.value[k] - by.mean) * by.inverse;
        g.value[k] = (dy.value[k] * g.value[k] - shift - z * row_dot) * by.inverse;
      }
      put8(x_gradient, row * n + i, some, g);
    });
  }
}

// Sums over rows: a block has `strip` columns of a part of the rows, each warp every eighth row of
// them, and the warps' sums are added as a tree. The parts' sums are summed likewise.
constexpr unsigned lanes = 32, warps = block_threads / lanes, strip = 8 * lanes;
constexpr std::uint64_t least_part_rows = 128, most_parts = 256, most_sums = 8u << 20;

/// How the rows of a sum are cut: by the shape alone.
struct Parts {
  std::uint64_t rows;   ///< of a part
  std::uint64_t count;  ///< of parts
};
Parts parts_of(std::uint64_t rows, std::uint64_t width) {
  const std::uint64_t most =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(most_parts, most_sums / width));
  const std::uint64_t of_part = std::max(least_part_rows, divided_up(rows, most));
  return {of_part, divided_up(rows, of_part)};
}

/// sums [parts, width]: of each part over the rows of term(row, column, count), eight columns.
template <class Term>
__global__ void sum_rows(std::uint64_t rows, std::uint64_t width, Parts parts, Output sums,
                         Term term) {
  __shared__ float shared[warps][strip];
  const unsigned lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
  const std::uint64_t strips = (width + strip - 1) / strip;
  for (std::uint64_t block = blockIdx.x; block < strips * parts.count; block += gridDim.x) {
    const std::uint64_t part = block / strips, column = block % strips * strip + 8 * lane;
    const std::uint64_t some = column >= width ? 0 : width - column < 8 ? width - column : 8;
    const std::uint64_t last = (part + 1) * parts.rows < rows ? (part + 1) * parts.rows : rows;
    Eight value = {};
    if (some > 0)
      for (std::uint64_t row = part * parts.rows + warp; row < last; row += warps) {
        const Eight more = term(row, column, some);
        for (int i = 0; i < 8; ++i) value.value[i] += more.value[i];
      }
    for (unsigned i = 0; i < 8; ++i) shared[warp][i * lanes + lane] = value.value[i];
    __syncthreads();
    for (unsigned half = warps / 2; half > 0; half /= 2) {
      if (warp < half)
        for (unsigned i = lane; i < strip; i += lanes) shared[warp][i] += shared[warp + half][i];
      __syncthreads();
    }
    for (unsigned i = 0; i < 8; ++i) value.value[i] = shared[0][i * lanes + lane];
    if (warp == 0 && some > 0) put8(sums, part * width + column, some, value);
    __syncthreads();
  }
}

struct Own {
  Input x;
  std::uint64_t width;
  __device__ Eight operator()(std::uint64_t row, std::uint64_t column, std::uint64_t some) const {
    return get8(x, row * width + column, some);
  }
};

struct TimesNormed {
  Norm norm;
  Input y_gradient, x;
  const float* statistics;
  __device__ Eight operator()(std::uint64_t row, std::uint64_t column, std::uint64_t some) const {
    const RowNorm by = row_norm(norm, statistics, row);
    const std::uint64_t at = row * norm.width + column;
    const Raw8 raw_gradient = raw8(y_gradient, at, some), raw_x = raw8(x, at, some);
    Eight value = widened8(y_gradient.type, raw_gradient);
    const Eight v = widened8(x.type, raw_x);
    for (int i = 0; i < 8; ++i) value.value[i] *= (v.value[i] - by.mean) * by.inverse;
    return value;
  }
};

/// (product - bias + added) of eight columns.
__device__ Eight adapted(const Rescale& call, std::uint64_t row, std::uint64_t column,
                         std::uint64_t some) {
  const std::uint64_t at = row * call.width + column;
  Eight value = get8(call.product, at, some);
  const Eight more = get8(call.added, at, some);
  const Eight bias = call.bias.data ? get8(call.bias, column, some) : Eight{};
  for (int i = 0; i < 8; ++i) value.value[i] = value.value[i] - bias.value[i] + more.value[i];
  return value;
}

struct TimesAdapted {
  Rescale call;
  Input y_gradient;
  __device__ Eight operator()(std::uint64_t row, std::uint64_t column, std::uint64_t some) const {
    Eight value = adapted(call, row, column, some);
    const Eight dy = get8(y_gradient, row * call.width + column, some);
    for (unsigned i = 0; i < 8; ++i)
      if (i < some) value.value[i] = value.value[i] / call.norms[column + i] * dy.value[i];
    return value;
  }
};

/// One block a row.
__global__ void row_norms(std::uint64_t rows, std::uint64_t n, Input x, float* norms) {
  __shared__ float shared[block_threads];
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float squares = 0;
    for (std::uint64_t i = 8 * threadIdx.x; i < n; i += block_elements) {
      const std::uint64_t some = n - i < 8 ? n - i : 8;
      const Eight v = get8(x, row * n + i, some);
      for (unsigned k = 0; k < 8; ++k)
        if (k < some) squares += v.value[k] * v.value[k];
    }
    const float root = sqrtf(block_sum(squares, shared));
    if (threadIdx.x == 0) norms[row] = root;
  }
}

/// One block a row.
__global__ void rescale(Rescale call, Output y) {
  const std::uint64_t n = call.width;
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x)
    for (std::uint64_t i = 8 * threadIdx.x; i < n; i += block_elements) {
      const std::uint64_t some = n - i < 8 ? n - i : 8;
      Eight v = adapted(call, row, i, some);
      const Eight m = get8(call.magnitudes, i, some);
      const Eight bias = call.bias.data ? get8(call.bias, i, some) : Eight{};
      for (unsigned k = 0; k < 8; ++k)
        if (k < some) v.value[k] = m.value[k] / call.norms[i + k] * v.value[k] + bias.value[k];
      put8(y, row * n + i, some, v);
    }
}

/// One block a row.
__global__ void rescale_backward(Rescale call, Input y_gradient, Output gradient) {
  const std::uint64_t n = call.width;
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x)
    for (std::uint64_t i = 8 * threadIdx.x; i < n; i += block_elements) {
      const std::uint64_t some = n - i < 8 ? n - i : 8;
      Eight v = get8(y_gradient, row * n + i, some);
      const Eight m = get8(call.magnitudes, i, some);
      for (unsigned k = 0; k < 8; ++k)
        if (k < some) v.value[k] *= m.value[k] / call.norms[i + k];
      put8(gradient, row * n + i, some, v);
    }
}

/// sum [width] = over the rows of the term.
template <class Term>
void start_sum(cudaStream_t stream, Scratch& scratch, const char* name, std::uint64_t rows,
               std::uint64_t width, const Output& sum, const Term& term) {
  if (width == 0) return;
  const Parts parts = parts_of(rows, width);
  const std::uint64_t strips = divided_up(width, strip);
  if (parts.count <= 1)
    return launch(stream, name, sum_rows<Term>, strips, rows, width, Parts{rows, 1}, sum, term);
  const Output sums{scratch.take(parts.count * width * sizeof(float)), Element::fp32, false};
  launch(stream, name, sum_rows<Term>, strips * parts.count, rows, width, parts, sums, term);
  launch(stream, name, sum_rows<Own>, strips, parts.count, width, Parts{parts.count, 1}, sum,
         Own{sums.read(), width});
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
  if (weight_gradient.data)
    on_device::start_sum(stream_, sums_, "norm_backward", norm.rows, norm.width, weight_gradient,
                         on_device::TimesNormed{norm, y_gradient, x, statistics});
  if (bias_gradient.data) sum_rows(norm.rows, norm.width, y_gradient, bias_gradient);
  launch(stream_, "norm_backward", on_device::norm_backward, norm.rows, norm, y_gradient, x,
         statistics, weight, x_gradient);
}

void CudaPrimitives::row_norms(std::uint64_t rows, std::uint64_t width, Input x, float* norms) {
  launch(stream_, "row_norms", on_device::row_norms, rows, rows, width, x, norms);
}

void CudaPrimitives::rescale(const Rescale& call, Output y) {
  launch(stream_, "rescale", on_device::rescale, call.rows, call, y);
}

void CudaPrimitives::rescale_backward(const Rescale& call, Input y_gradient, Output gradient,
                                      Output magnitudes_gradient) {
  // the sums first: the gradient may lie where y_gradient does
  on_device::start_sum(stream_, sums_, "rescale_backward", call.rows, call.width,
                       magnitudes_gradient, on_device::TimesAdapted{call, y_gradient});
  launch(stream_, "rescale_backward", on_device::rescale_backward, call.rows, call, y_gradient,
         gradient);
}

void CudaPrimitives::sum_rows(std::uint64_t rows, std::uint64_t width, Input x, Output sum) {
  on_device::start_sum(stream_, sums_, "sum_rows", rows, width, sum, on_device::Own{x, width});
}

}  // namespace spillway::hw_backend
