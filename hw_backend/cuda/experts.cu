#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// A token's softmax: of its experts, or of all.
struct Softened {
  float largest, sum;
};

/// What a logit counts before it is divided by the sum.
__device__ float weight_of(const Routing& r, float logit, float largest) {
  return r.of_sigmoids() ? sigmoid(logit) : expf(logit - largest);
}

__device__ Softened soften(const Routing& r, const Input& logits, std::uint32_t token) {
  const std::uint32_t count = r.over_all() ? r.experts : r.per_token;
  const std::uint64_t row = std::uint64_t{token} * r.experts;
  const std::uint32_t first = r.first_copy(token);
  const auto logit = [&](std::uint32_t i) {
    return get(logits, row + (r.over_all() ? i : r.expert_of(first + i * r.tokens)));
  };
  float largest = logit(0);
  for (std::uint32_t i = 1; i < count; ++i) largest = fmaxf(largest, logit(i));
  float sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += weight_of(r, logit(i), largest);
  return {largest, sum};
}

/// A thread a token.
__global__ void route(Routing r, Input logits, float* shares) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; at < r.tokens;
       at += threads) {
    const auto token = static_cast<std::uint32_t>(at);
    const Softened of = soften(r, logits, token);
    const std::uint32_t first = r.first_copy(token);
    for (std::uint32_t i = 0; i < r.per_token; ++i) {
      const std::uint32_t copy = first + i * r.tokens;
      const float logit = get(logits, at * r.experts + r.expert_of(copy));
      shares[copy] = weight_of(r, logit, of.largest) / of.sum;
    }
  }
}

/// A thread a token: what no share depends on first, then what some do.
__global__ void route_backward(Routing r, Input logits, const float* shares,
                               const float* shares_gradient, Output logits_gradient) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; at < r.tokens;
       at += threads) {
    const auto token = static_cast<std::uint32_t>(at);
    const std::uint32_t first = r.first_copy(token), end = first + r.per_token * r.tokens;
    float row_dot = 0;
    for (std::uint32_t copy = first; copy < end; copy += r.tokens)
      row_dot += shares[copy] * shares_gradient[copy];
    const Softened of = r.over_all() ? soften(r, logits, token) : Softened{0, 1};
    std::uint32_t next = first, chosen = r.expert_of(first);
    for (std::uint32_t expert = 0; expert < r.experts; ++expert) {
      const std::uint64_t place = at * r.experts + expert;
      float value = 0;
      if (next < end && expert == chosen) {
        value = shares[next] * (shares_gradient[next] - row_dot);
        if (r.of_sigmoids()) value *= 1.0f - sigmoid(get(logits, place));
        next += r.tokens;
        if (next < end) chosen = r.expert_of(next);
      } else if (r.over_all()) {
        value = expf(get(logits, place) - of.largest) / of.sum * -row_dot;
      }
      put(logits_gradient, place, value);
    }
  }
}

/// One block a copy.
__global__ void scatter_rows(Routing r, std::uint64_t n, const float* shares, Input x,
                             Output copies) {
  for (std::uint64_t copy = blockIdx.x; copy < r.copies(); copy += gridDim.x) {
    const std::uint64_t token = r.token_of(static_cast<std::uint32_t>(copy));
    const float share = shares ? shares[copy] : 1.0f;
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Eight v = get8(x, token * n + i, some);
      for (int k = 0; k < 8; ++k) v.value[k] *= share;
      put8(copies, copy * n + i, some, v);
    });
  }
}

/// One block a token.
__global__ void gather_rows(Routing r, std::uint64_t n, const float* shares, Input copies,
                            Output y) {
  for (std::uint64_t token = blockIdx.x; token < r.tokens; token += gridDim.x) {
    const std::uint32_t first = r.first_copy(static_cast<std::uint32_t>(token));
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Eight sum = {};
      for (std::uint32_t j = 0; j < r.per_token; ++j) {
        const std::uint64_t copy = first + j * r.tokens;
        const float share = shares ? shares[copy] : 1.0f;
        const Eight v = get8(copies, copy * n + i, some);
        for (int k = 0; k < 8; ++k) sum.value[k] += share * v.value[k];
      }
      put8(y, token * n + i, some, sum);
    });
  }
}

/// This thread's part of the product of a row of each, `n` wide.
__device__ float product_of_rows(const Input& a, std::uint64_t row_a, const Input& b,
                                 std::uint64_t row_b, std::uint64_t n) {
  float sum = 0;
  for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
    const Eight one = get8(a, row_a * n + i, some), other = get8(b, row_b * n + i, some);
    for (int k = 0; k < 8; ++k) sum += one.value[k] * other.value[k];
  });
  return sum;
}

/// One block a copy.
__global__ void gather_backward(Routing r, std::uint64_t n, Input y_gradient, Input copies,
                                float* shares_gradient) {
  __shared__ float shared[block_threads];
  for (std::uint64_t copy = blockIdx.x; copy < r.copies(); copy += gridDim.x) {
    const std::uint64_t token = r.token_of(static_cast<std::uint32_t>(copy));
    const float sum = block_sum(product_of_rows(copies, copy, y_gradient, token, n), shared);
    if (threadIdx.x == 0) shares_gradient[copy] = sum;
  }
}

/// y = x times the sigmoid of its row's weight, one block a row.
__global__ void weigh_rows(std::uint64_t rows, std::uint64_t n, Input x, Input weights, Output y) {
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float weight = sigmoid(get(weights, row));
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Eight v = get8(x, row * n + i, some);
      for (int k = 0; k < 8; ++k) v.value[k] *= weight;
      put8(y, row * n + i, some, v);
    });
  }
}

__global__ void weights_gradient(std::uint64_t rows, std::uint64_t n, Input y_gradient, Input x,
                                 Input weights, Output gradient) {
  __shared__ float shared[block_threads];
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float weight = sigmoid(get(weights, row));
    const float sum = block_sum(product_of_rows(y_gradient, row, x, row, n), shared);
    if (threadIdx.x == 0) put(gradient, row, sum * weight * (1.0f - weight));
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::route(const Routing& routing, Input logits, float* shares) {
  launch(stream_, "route", on_device::route, divided_up(routing.tokens, block_threads), routing,
         logits, shares);
}

void CudaPrimitives::route_backward(const Routing& routing, Input logits, const float* shares,
                                    const float* shares_gradient, Output logits_gradient) {
  launch(stream_, "route_backward", on_device::route_backward,
         divided_up(routing.tokens, block_threads), routing, logits, shares, shares_gradient,
         logits_gradient);
}

void CudaPrimitives::scatter_rows(const Routing& routing, std::uint64_t width, const float* shares,
                                  Input x, Output copies) {
  launch(stream_, "scatter_rows", on_device::scatter_rows, routing.copies(), routing, width, shares,
         x, copies);
}

void CudaPrimitives::gather_rows(const Routing& routing, std::uint64_t width, const float* shares,
                                 Input copies, Output y) {
  launch(stream_, "gather_rows", on_device::gather_rows, routing.tokens, routing, width, shares,
         copies, y);
}

void CudaPrimitives::gather_backward(const Routing& routing, std::uint64_t width, Input y_gradient,
                                     Input copies, float* shares_gradient) {
  launch(stream_, "gather_backward", on_device::gather_backward, routing.copies(), routing, width,
         y_gradient, copies, shares_gradient);
}

void CudaPrimitives::weigh_rows(std::uint64_t rows, std::uint64_t width, Input x, Input weights,
                                Output y) {
  launch(stream_, "weigh_rows", on_device::weigh_rows, rows, rows, width, x, weights, y);
}

void CudaPrimitives::weigh_rows_backward(std::uint64_t rows, std::uint64_t width, Input y_gradient,
                                         Input x, Input weights, Output x_gradient,
                                         Output weights_gradient) {
  launch(stream_, "weights_gradient", on_device::weights_gradient, rows, rows, width, y_gradient, x,
         weights, weights_gradient);
  launch(stream_, "weigh_rows_backward", on_device::weigh_rows, rows, rows, width, y_gradient,
         weights, x_gradient);
}

}  // namespace spillway::hw_backend
