#include "hw_backend/arithmetic/host_map.hpp"

#include <cmath>

namespace spillway::hw_backend {

void HostPrimitives::norm(const Norm& norm, Input x, Input weight, Input bias, float* statistics,
                          Output y) {
  const std::size_t n = norm.width;
  const auto [wide_x, wide_weight, wide_bias, values] = scratch_.take<4>({n, n, n, n});
  const float* const w = widen(weight, 0, n, wide_weight);
  const float* const b = widen(bias, 0, n, wide_bias);
  const bool centred = norm.kind == NormKind::layer;
  const auto count = static_cast<float>(n);
  float* const inverse = statistics + (centred ? norm.rows : 0);
  for (std::uint64_t row = 0; row < norm.rows; ++row) {
    const float* const from = widen(x, row * n, n, wide_x);
    const float mean = centred ? sum_of(n, [&](std::size_t i) { return from[i]; }) / count : 0.0f;
    const float variance =
        sum_of(n, [&](std::size_t i) { return (from[i] - mean) * (from[i] - mean); }) / count;
    if (centred) statistics[row] = mean;
    inverse[row] = 1.0f / std::sqrt(variance + norm.epsilon);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = (from[i] - mean) * inverse[row];
      if (w) values[i] *= w[i];
      if (b) values[i] += b[i];
    }
    narrow(values, y, row * n, n);
  }
}

// With z = (x - mean) / deviation and g = weight x y_gradient:
// x_gradient = (g - mean(g) - z mean(g z)) / deviation; without a mean, without its term.
void HostPrimitives::norm_backward(const Norm& norm, Input y_gradient, Input x,
                                   const float* statistics, Input weight, Output x_gradient,
                                   Output weight_gradient, Output bias_gradient) {
  const std::size_t n = norm.width;
  const auto [wide_x, wide_y, wide_weight, values, z, weights, biases] =
      scratch_.take<7>({n, n, n, n, n, n, n});
  const float* const w = widen(weight, 0, n, wide_weight);
  const bool centred = norm.kind == NormKind::layer;
  const auto count = static_cast<float>(n);
  const float* const inverse = statistics + (centred ? norm.rows : 0);
  std::fill_n(weights, n, 0.0f);
  std::fill_n(biases, n, 0.0f);
  for (std::uint64_t row = 0; row < norm.rows; ++row) {
    const float* const from = widen(x, row * n, n, wide_x);
    const float* const dy = widen(y_gradient, row * n, n, wide_y);
    const float mean = centred ? statistics[row] : 0.0f;
    for (std::size_t i = 0; i < n; ++i) {
      z[i] = (from[i] - mean) * inverse[row];
      weights[i] += dy[i] * z[i];
      biases[i] += dy[i];
      values[i] = dy[i] * w[i];
    }
    const float row_dot = sum_of(n, [&](std::size_t i) { return values[i] * z[i]; }) / count;
    const float shift =
        centred ? sum_of(n, [&](std::size_t i) { return values[i]; }) / count : 0.0f;
    for (std::size_t i = 0; i < n; ++i)
      values[i] = (values[i] - shift - z[i] * row_dot) * inverse[row];
    narrow(values, x_gradient, row * n, n);
  }
  if (weight_gradient.data) narrow(weights, weight_gradient, 0, n);
  if (bias_gradient.data) narrow(biases, bias_gradient, 0, n);
}

void HostPrimitives::row_norms(std::uint64_t rows, std::uint64_t width, Input x, float* norms) {
  const std::size_t n = width;
  const auto [wide] = scratch_.take<1>({n});
  for (std::uint64_t row = 0; row < rows; ++row) {
    const float* const from = widen(x, row * n, n, wide);
    norms[row] = std::sqrt(sum_of(n, [&](std::size_t i) { return from[i] * from[i]; }));
  }
}

void HostPrimitives::rescale(const Rescale& call, Output y) {
  const std::size_t n = call.width;
  const auto [wide_product, wide_added, wide_bias, wide_magnitudes, values] =
      scratch_.take<5>({n, n, n, n, n});
  const float* const bias = widen(call.bias, 0, n, wide_bias);
  const float* const magnitudes = widen(call.magnitudes, 0, n, wide_magnitudes);
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    const float* const product = widen(call.product, row * n, n, wide_product);
    const float* const added = widen(call.added, row * n, n, wide_added);
    for (std::size_t i = 0; i < n; ++i) {
      const float b = bias ? bias[i] : 0.0f;
      values[i] = magnitudes[i] / call.norms[i] * (product[i] - b + added[i]) + b;
    }
    narrow(values, y, row * n, n);
  }
}

void HostPrimitives::rescale_backward(const Rescale& call, Input y_gradient, Output gradient,
                                      Output magnitudes_gradient) {
  const std::size_t n = call.width;
  const auto [wide_product, wide_added, wide_bias, wide_magnitudes, wide_y, values, sums] =
      scratch_.take<7>({n, n, n, n, n, n, n});
  const float* const bias = widen(call.bias, 0, n, wide_bias);
  const float* const magnitudes = widen(call.magnitudes, 0, n, wide_magnitudes);
  std::fill_n(sums, n, 0.0f);
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    const float* const product = widen(call.product, row * n, n, wide_product);
    const float* const added = widen(call.added, row * n, n, wide_added);
    const float* const dy = widen(y_gradient, row * n, n, wide_y);
    for (std::size_t i = 0; i < n; ++i) {
      const float b = bias ? bias[i] : 0.0f;
      sums[i] += (product[i] - b + added[i]) / call.norms[i] * dy[i];
      values[i] = magnitudes[i] / call.norms[i] * dy[i];
    }
    narrow(values, gradient, row * n, n);
  }
  narrow(sums, magnitudes_gradient, 0, n);
}

}  // namespace spillway::hw_backend
