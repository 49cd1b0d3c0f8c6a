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
    const std::uint64_t seen = softmax.causal ? row % softmax.queries + 1 : n;
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
    const float along = block_sum(sum, shared);
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      const Eight dy = get8(y_gradient, row * n + i, some);
      Eight p = get8(y, row * n + i, some);
      for (int k = 0; k < 8; ++k) p.value[k] = p.value[k] * (dy.value[k] - along);
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
  __shared__ std::uint64_t label;
  const std::uint64_t n = call.width;
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    if (threadIdx.x == 0) label = call.text.label(call.first_row + row);
    __syncthreads();
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Eight v = get8(softmax, row * n + i, some);
      for (std::uint64_t k = 0; k < 8; ++k)
        v.value[k] = (v.value[k] - (i + k == label ? 1.0f : 0.0f)) * scale;
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

void CudaPrimitives::cross_entropy_backward(const CrossEntropy& call, Input softmax, float scale,
                                            Output logits_gradient) {
  launch(stream_, "cross_entropy_backward", on_device::cross_entropy_backward, call.rows, call,
         softmax, scale, logits_gradient);
}

}  // namespace spillway::hw_backend
