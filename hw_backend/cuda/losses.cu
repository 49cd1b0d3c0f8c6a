#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"
#include "hw_backend/cuda/softmax.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// One block a row; y may be x: a thread writes what it alone reads.
__global__ void softmax(Softmax softmax, Input x, Output y) {
  __shared__ float shared[block_threads];
  const std::uint64_t n = softmax.width;
  for (std::uint64_t row = blockIdx.x; row < softmax.rows; row += gridDim.x) {
    const std::uint64_t seen = softmax.seen(row);
    const SoftmaxInput held(x, row * n, n);
    const SoftmaxRow sums = softmax_row(held, seen, 1.0f, shared);
    const float inverse = 1.0f / sums.sum;
    for_held_row<softmax_held>(n, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
      Eight v = held.get(round, i, some);
      for (unsigned k = 0; k < 8; ++k)
        v.value[k] = i + k < seen ? expf(v.value[k] - sums.largest) * inverse : 0.0f;
      put8(y, row * n + i, some, v);
    });
  }
}

__global__ void softmax_backward(Softmax softmax, Input y_gradient, Input y, Output x_gradient) {
  __shared__ float shared[block_threads];
  const std::uint64_t n = softmax.width;
  for (std::uint64_t row = blockIdx.x; row < softmax.rows; row += gridDim.x) {
    float sum = 0;
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      const Eight dy = get8(y_gradient, row * n + i, some), p = get8(y, row * n + i, some);
      for (int k = 0; k < 8; ++k) sum += dy.value[k] * p.value[k];
    });
    const float row_dot = block_sum(sum, shared);
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      const Eight dy = get8(y_gradient, row * n + i, some);
      Eight p = get8(y, row * n + i, some);
      for (int k = 0; k < 8; ++k) p.value[k] = p.value[k] * (dy.value[k] - row_dot);
      put8(x_gradient, row * n + i, some, p);
    });
  }
}

/// losses [rows]: log of the sum of exp(logits) - logit of the label. One block a row.
__global__ void row_losses(CrossEntropy call, Input logits, double* losses) {
  __shared__ float shared[block_threads];
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const std::uint64_t first = row * call.width;
    const SoftmaxInput held(logits, first, call.width);
    const SoftmaxRow sums = softmax_row(held, call.width, 1.0f, shared);
    if (threadIdx.x == 0) {
      const float own = get(logits, first + call.text.label(call.first_row + row));
      losses[row] = static_cast<double>(logf(sums.sum) + sums.largest - own);
    }
  }
}

/// As the contract says. One block a row.
__global__ void row_statistics(CrossEntropy call, Input logits, float* statistics) {
  __shared__ float shared[block_threads];
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const std::uint64_t first = row * call.width, token = call.first_row + row;
    const SoftmaxInput held(logits, first, call.width);
    const SoftmaxRow sums = softmax_row(held, call.words.count, 1.0f, shared);
    if (threadIdx.x == 0) {
      const std::uint64_t label = call.text.label(token);
      statistics[2 * token] = logf(sums.sum) + sums.largest;
      statistics[2 * token + 1] =
          call.words.has(label) ? get(logits, first + label - call.words.first) : 0.0f;
    }
  }
}

/// losses [tokens], shares [tokens]: a thread a token.
__global__ void join_rows(JoinedLoss call, const float* statistics, float* shares, double* losses) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t token = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       token < call.tokens; token += stride) {
    const auto of = [&](std::uint64_t rank, std::uint64_t which) {
      return statistics[2 * (rank * call.tokens + token) + which];
    };
    float largest = -INFINITY, sum = 0, label = 0;
    for (std::uint64_t rank = 0; rank < call.ranks; ++rank) largest = fmaxf(largest, of(rank, 0));
    for (std::uint64_t rank = 0; rank < call.ranks; ++rank) {
      sum += expf(of(rank, 0) - largest);
      label += of(rank, 1);
    }
    const float all = logf(sum) + largest;
    shares[token] = expf(of(call.rank, 0) - all);
    losses[token] = static_cast<double>(all - label);
  }
}

/// One block in all.
__global__ void add_losses(const double* losses, std::uint64_t rows, std::uint64_t tokens,
                           double* loss) {
  __shared__ double shared[block_threads];
  double sum = 0;
  for (std::uint64_t row = threadIdx.x; row < rows; row += block_threads) sum += losses[row];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *loss += sum / static_cast<double>(tokens);
}

__global__ void cross_entropy_backward(CrossEntropy call, Input softmax, float scale,
                                       Output logits_gradient) {
  __shared__ std::uint64_t label;  // its column; of a word of another rank: behind all
  const std::uint64_t n = call.width;
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    if (threadIdx.x == 0) {
      const std::uint64_t word = call.text.label(call.first_row + row);
      label = call.words.has(word) ? word - call.words.first : n + 8;
    }
    __syncthreads();
    const float share = call.share(row);
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Eight v = get8(softmax, row * n + i, some);
      for (std::uint64_t k = 0; k < 8; ++k)
        v.value[k] = (v.value[k] * share - (i + k == label ? 1.0f : 0.0f)) * scale;
      put8(logits_gradient, row * n + i, some, v);
    });
    __syncthreads();
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::softmax(const Softmax& softmax, Input x, Output y) {
  launch(stream_, "softmax", on_device::softmax, softmax.rows, softmax, x, y);
}

void CudaPrimitives::softmax_backward(const Softmax& softmax, Input y_gradient, Input y,
                                      Output x_gradient) {
  launch(stream_, "softmax_backward", on_device::softmax_backward, softmax.rows, softmax,
         y_gradient, y, x_gradient);
}

void CudaPrimitives::cross_entropy(const CrossEntropy& call, Input logits, double* loss) {
  if (call.rows == 0) return;
  auto* const losses = reinterpret_cast<double*>(rows_.take(call.rows * sizeof(double)));
  launch(stream_, "cross_entropy", on_device::row_losses, call.rows, call, logits, losses);
  launch(stream_, "cross_entropy", on_device::add_losses, 1, losses, call.rows, call.tokens, loss);
}

void CudaPrimitives::cross_entropy_statistics(const CrossEntropy& call, Input logits,
                                              float* statistics) {
  launch(stream_, "cross_entropy_statistics", on_device::row_statistics, call.rows, call, logits,
         statistics);
}

void CudaPrimitives::join_losses(const JoinedLoss& call, const float* statistics, float* shares,
                                 double* loss) {
  if (call.tokens == 0) return;
  auto* const losses = reinterpret_cast<double*>(rows_.take(call.tokens * sizeof(double)));
  launch(stream_, "join_losses", on_device::join_rows, divided_up(call.tokens, block_threads), call,
         statistics, shares, losses);
  launch(stream_, "join_losses", on_device::add_losses, 1, losses, call.tokens, call.tokens, loss);
}

void CudaPrimitives::cross_entropy_backward(const CrossEntropy& call, Input softmax, float scale,
                                            Output logits_gradient) {
  launch(stream_, "cross_entropy_backward", on_device::cross_entropy_backward, call.rows, call,
         softmax, scale, logits_gradient);
}

}  // namespace spillway::hw_backend
