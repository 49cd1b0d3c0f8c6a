#include "hw_backend/arithmetic/host_map.hpp"

#include <cmath>

namespace spillway::hw_backend {

void HostPrimitives::route(const Routing& r, Input logits, float* shares) {
  const auto [wide] = scratch_.take<1>({r.experts});
  for (std::uint32_t token = 0; token < r.tokens; ++token) {
    const float* const row = widen(logits, std::uint64_t{token} * r.experts, r.experts, wide);
    const std::uint32_t first = r.first_copy(token);
    const auto logit = [&](std::size_t i) {
      return row[r.expert_of(first + static_cast<std::uint32_t>(i) * r.tokens)];
    };
    float largest = logit(0);
    for (std::uint32_t i = 1; i < r.per_token; ++i) largest = std::max(largest, logit(i));
    if (r.over_all()) largest = *std::max_element(row, row + r.experts);
    const auto weight = [&](std::size_t i) {
      return r.of_sigmoids() ? sigmoid(logit(i)) : std::exp(logit(i) - largest);
    };
    const float sum =
        r.over_all() ? sum_of(r.experts, [&](std::size_t i) { return std::exp(row[i] - largest); })
                     : sum_of(r.per_token, weight);
    for (std::uint32_t i = 0; i < r.per_token; ++i) shares[first + i * r.tokens] = weight(i) / sum;
  }
}

// With p the shares and g their gradients: p (g - sum of p g), where g is 0 of what is no share;
// of sigmoids s that times 1 - s.
void HostPrimitives::route_backward(const Routing& r, Input logits, const float* shares,
                                    const float* shares_gradient, Output logits_gradient) {
  const auto [wide, values] = scratch_.take<2>({r.experts, r.experts});
  for (std::uint32_t token = 0; token < r.tokens; ++token) {
    const std::uint64_t place = std::uint64_t{token} * r.experts;
    const std::uint32_t first = r.first_copy(token);
    const float row_dot = sum_of(r.per_token, [&](std::size_t i) {
      const std::size_t copy = first + i * r.tokens;
      return shares[copy] * shares_gradient[copy];
    });
    std::fill_n(values, r.experts, 0.0f);
    const float* const row =
        models::keeps_logits(r.rule) ? widen(logits, place, r.experts, wide) : nullptr;
    if (r.over_all()) {
      const float largest = *std::max_element(row, row + r.experts);
      const float sum =
          sum_of(r.experts, [&](std::size_t i) { return std::exp(row[i] - largest); });
      for (std::uint32_t i = 0; i < r.experts; ++i)
        values[i] = std::exp(row[i] - largest) / sum * -row_dot;
    }
    for (std::uint32_t i = 0; i < r.per_token; ++i) {
      const std::uint32_t copy = first + i * r.tokens, expert = r.expert_of(copy);
      values[expert] = shares[copy] * (shares_gradient[copy] - row_dot);
      if (r.of_sigmoids()) values[expert] *= 1.0f - sigmoid(row[expert]);
    }
    narrow(values, logits_gradient, place, r.experts);
  }
}

void HostPrimitives::scatter_rows(const Routing& r, std::uint64_t width, const float* shares,
                                  Input x, Output copies) {
  const auto [values] = scratch_.take<1>({width});
  for (std::uint32_t copy = 0; copy < r.copies(); ++copy) {
    widen_into(x, r.token_of(copy) * width, width, values);
    if (shares)
      for (std::uint64_t i = 0; i < width; ++i) values[i] *= shares[copy];
    narrow(values, copies, copy * width, width);
  }
}

void HostPrimitives::gather_rows(const Routing& r, std::uint64_t width, const float* shares,
                                 Input copies, Output y) {
  const auto [wide, sum] = scratch_.take<2>({width, width});
  for (std::uint32_t token = 0; token < r.tokens; ++token) {
    std::fill_n(sum, width, 0.0f);
    for (std::uint32_t i = 0, copy = r.first_copy(token); i < r.per_token; ++i, copy += r.tokens) {
      const float* const values = widen(copies, copy * width, width, wide);
      const float share = shares ? shares[copy] : 1.0f;
      for (std::uint64_t k = 0; k < width; ++k) sum[k] += share * values[k];
    }
    narrow(sum, y, token * width, width);
  }
}

void HostPrimitives::gather_backward(const Routing& r, std::uint64_t width, Input y_gradient,
                                     Input copies, float* shares_gradient) {
  const auto [wide, wide_gradient] = scratch_.take<2>({width, width});
  for (std::uint32_t copy = 0; copy < r.copies(); ++copy) {
    const float* const values = widen(copies, copy * width, width, wide);
    const float* const dy = widen(y_gradient, r.token_of(copy) * width, width, wide_gradient);
    shares_gradient[copy] = sum_of(width, [&](std::size_t i) { return values[i] * dy[i]; });
  }
}

void HostPrimitives::weigh_rows(std::uint64_t rows, std::uint64_t width, Input x, Input weights,
                                Output y) {
  const auto [values] = scratch_.take<1>({width});
  for (std::uint64_t row = 0; row < rows; ++row) {
    const float weight = sigmoid(load(weights, row));
    widen_into(x, row * width, width, values);
    for (std::uint64_t i = 0; i < width; ++i) values[i] *= weight;
    narrow(values, y, row * width, width);
  }
}

void HostPrimitives::weigh_rows_backward(std::uint64_t rows, std::uint64_t width, Input y_gradient,
                                         Input x, Input weights, Output x_gradient,
                                         Output weights_gradient) {
  const auto [wide, wide_gradient, values] = scratch_.take<3>({width, width, width});
  for (std::uint64_t row = 0; row < rows; ++row) {
    const float weight = sigmoid(load(weights, row));
    const float* const of_row = widen(x, row * width, width, wide);
    const float* const dy = widen(y_gradient, row * width, width, wide_gradient);
    for (std::uint64_t i = 0; i < width; ++i) values[i] = dy[i] * weight;
    float weight_gradient =
        sum_of(width, [&](std::size_t i) { return dy[i] * of_row[i]; }) * weight * (1.0f - weight);
    narrow(values, x_gradient, row * width, width);
    narrow(&weight_gradient, weights_gradient, row, 1);
  }
}

}  // namespace spillway::hw_backend
