#include "hw_backend/arithmetic/square_sum.hpp"
#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// Of a partial sum in scratch: the words, and how many squares are infinite.
constexpr unsigned part_words = Square::words + 1;
constexpr unsigned most_square_parts = 1024;

/// A part for each block.
__global__ void square_parts(std::uint64_t count, Input x, std::uint64_t* parts) {
  __shared__ std::uint64_t shared[block_threads];
  std::uint64_t sums[part_words] = {};
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_elements;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * block_elements + 8 * threadIdx.x;
       first < count; first += stride) {
    const Eight eight = get8(x, first, count - first);
    SPILLWAY_UNROLL
    for (unsigned i = 0; i < 8; ++i) {
      const Square square(bits_of(eight.value[i]));
      SPILLWAY_UNROLL
      for (unsigned word = 0; word < Square::words; ++word) sums[word] += square.word(word);
      sums[Square::words] += square.infinite() ? 1 : 0;
    }
  }
  SPILLWAY_UNROLL
  for (unsigned word = 0; word < part_words; ++word) {
    const std::uint64_t all = block_sum(sums[word], shared);
    if (threadIdx.x == 0) parts[blockIdx.x * part_words + word] = all;
  }
}

/// One block: what its threads have of each word is added up, and stored as a sum in memory.
///   word_of(i, word)  of the i-th of `count`; word Square::words: whether it is infinite
template <class WordOf>
__device__ void store_total(std::uint64_t count, const WordOf& word_of, float* total) {
  __shared__ std::uint64_t shared[block_threads];
  SquareSum sum;
  SPILLWAY_UNROLL
  for (unsigned word = 0; word < part_words; ++word) {
    std::uint64_t own = 0;
    for (std::uint64_t i = threadIdx.x; i < count; i += block_threads) own += word_of(i, word);
    const std::uint64_t all = block_sum(own, shared);
    if (word < Square::words)
      sum.word[word] = all;
    else
      sum.infinite = all;
  }
  if (threadIdx.x == 0) sum.store(total);
}

__global__ void add_parts(std::uint64_t count, const std::uint64_t* parts, float* total) {
  store_total(
      count, [=](std::uint64_t i, unsigned word) { return parts[i * part_words + word]; }, total);
}

__global__ void add_sums(std::uint64_t count, const float* sums, float* total) {
  store_total(
      count,
      [=](std::uint64_t i, unsigned word) {
        const float* const sum = sums + i * SquareSum::numbers;
        if (word < Square::words) return SquareSum::word_of(sum, word);
        return std::uint64_t{SquareSum::is_infinite(sum) ? 1u : 0u};
      },
      total);
}

__global__ void root_of_sum(const float* sum, float* into) {
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *into = static_cast<float>(sqrt(value_of_square_sum(sum)));
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::sum_squares(std::uint64_t count, Input values, float* sum) {
  const std::uint64_t blocks = std::min<std::uint64_t>(
      on_device::most_square_parts,
      std::max<std::uint64_t>(1, divided_up(count, on_device::block_elements)));
  auto* const parts = reinterpret_cast<std::uint64_t*>(
      sums_.take(blocks * on_device::part_words * sizeof(std::uint64_t)));
  launch(stream_, "sum_squares", on_device::square_parts, blocks, count, values, parts);
  launch(stream_, "sum_squares", on_device::add_parts, 1, blocks, parts, sum);
}

void CudaPrimitives::add_squares(std::uint64_t count, const float* sums, float* total) {
  launch(stream_, "add_squares", on_device::add_sums, 1, count, sums, total);
}

void CudaPrimitives::root_of_squares(const float* sum, float* root) {
  launch(stream_, "root_of_squares", on_device::root_of_sum, 1, sum, root);
}

}  // namespace spillway::hw_backend
