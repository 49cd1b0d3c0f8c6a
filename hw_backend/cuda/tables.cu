#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// One block a row.
__global__ void embed(Embedding call, Input words, Input positions, Output hidden) {
  __shared__ std::uint64_t word;
  const std::uint64_t n = call.width;
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    if (threadIdx.x == 0) word = call.text.input(row);
    __syncthreads();
    const std::uint64_t position = row % call.text.sequence + call.position_offset;
    for_fours_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Four v = get4(words, word * n + i, some);
      if (call.positions > 0) {
        const Four more = get4(positions, position * n + i, some);
        for (int k = 0; k < 4; ++k) v.value[k] += more.value[k];
      }
      put4(hidden, row * n + i, some, v);
    });
    __syncthreads();
  }
}

/// words [rows]: which word each token is.
__global__ void find_words(Embedding call, std::uint64_t* words) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; row < call.rows;
       row += stride)
    words[row] = call.text.input(row);
}

/// Every block sums one symbol's tokens, in ascending order, for `block_threads` columns of its
/// word.
__global__ void sum_words(Embedding call, const std::uint64_t* words, Input hidden, Output table) {
  __shared__ std::uint64_t some[block_threads];
  const std::uint64_t n = call.width, parts = (n + block_threads - 1) / block_threads;
  for (std::uint64_t block = blockIdx.x; block < call.text.symbols() * parts; block += gridDim.x) {
    const std::uint64_t word = call.text.token_of(static_cast<std::uint32_t>(block / parts));
    const std::uint64_t column = block % parts * block_threads + threadIdx.x;
    float sum = 0;
    bool used = false;
    for (std::uint64_t first = 0; first < call.rows; first += block_threads) {
      if (first + threadIdx.x < call.rows) some[threadIdx.x] = words[first + threadIdx.x];
      __syncthreads();
      for (unsigned i = 0; i < block_threads && first + i < call.rows; ++i) {
        if (some[i] != word) continue;
        used = true;
        if (column < n) sum += get(hidden, (first + i) * n + column);
      }
      __syncthreads();
    }
    if (used && column < n) put(table, word * n + column, sum);
  }
}

/// Position p of the sequence: its tokens of all samples, in order.
__global__ void sum_positions(Embedding call, Input hidden, Output table) {
  const std::uint64_t n = call.width, stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       at < call.text.sequence * n; at += stride) {
    const std::uint64_t position = at / n, column = at % n;
    float sum = 0;
    for (std::uint64_t row = position; row < call.rows; row += call.text.sequence)
      sum += get(hidden, row * n + column);
    put(table, (position + call.position_offset) * n + column, sum);
  }
}

/// A thread turns one pair of elements at one position, in all samples and heads.
__global__ void rotate(Rotation rotation, Output values) {
  const std::uint64_t half = (rotation.rotated == 0 ? rotation.head_dim : rotation.rotated) / 2;
  const std::uint64_t width = rotation.heads * rotation.head_dim;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       at < rotation.sequence * half; at += stride) {
    const std::uint64_t position = at / half, i = at % half;
    const double power = -2.0 * static_cast<double>(i) / static_cast<double>(2 * half);
    const double angle = static_cast<double>(position) * pow(rotation.theta, power);
    const float s = static_cast<float>(rotation.back ? -sin(angle) : sin(angle));
    const float c = static_cast<float>(cos(angle));
    for (std::uint64_t row = position; row < rotation.rows; row += rotation.sequence)
      for (std::uint64_t head = 0; head < rotation.heads; ++head) {
        const std::uint64_t first = row * width + head * rotation.head_dim + i;
        const float a = get(values.data, values.type, first);
        const float b = get(values.data, values.type, first + half);
        put(values, first, a * c - b * s);
        put(values, first + half, b * c + a * s);
      }
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::embed(const Embedding& call, Input words, Input positions, Output hidden) {
  launch(stream_, "embed", on_device::embed, call.rows, call, words, positions, hidden);
}

void CudaPrimitives::embed_backward(const Embedding& call, Input hidden_gradient, Output words,
                                    Output positions) {
  auto* const found =
      reinterpret_cast<std::uint64_t*>(rows_.take(call.rows * sizeof(std::uint64_t)));
  launch(stream_, "embed_backward", on_device::find_words, divided_up(call.rows, block_threads),
         call, found);
  if (!words.add) zero(words.data, call.text.vocabulary * call.width * size_of(words.type));
  launch(stream_, "embed_backward", on_device::sum_words,
         call.text.symbols() * divided_up(call.width, block_threads), call, found, hidden_gradient,
         words);
  if (call.positions == 0) return;
  if (!positions.add) zero(positions.data, call.positions * call.width * size_of(positions.type));
  launch(stream_, "embed_backward", on_device::sum_positions,
         divided_up(call.text.sequence * call.width, block_threads), call, hidden_gradient,
         positions);
}

void CudaPrimitives::rotate(const Rotation& rotation, Output values) {
  values.add = false;
  const std::uint64_t turning = rotation.rotated == 0 ? rotation.head_dim : rotation.rotated;
  launch(stream_, "rotate", on_device::rotate,
         divided_up(rotation.sequence * (turning / 2), block_threads), rotation, values);
}

}  // namespace spillway::hw_backend
