#include "hw_backend/arithmetic/host_primitives.hpp"
#include "hw_backend/arithmetic/square_sum.hpp"

#include <bit>
#include <cmath>

namespace spillway::hw_backend {

void HostPrimitives::sum_squares(std::uint64_t count, Input values, float* sum) {
  SquareSum all;
  for (std::uint64_t i = 0; i < count; ++i)
    all.add(Square(std::bit_cast<std::uint32_t>(load(values, i))));
  all.store(sum);
}

void HostPrimitives::add_squares(std::uint64_t count, const float* sums, float* total) {
  SquareSum all;
  for (std::uint64_t i = 0; i < count; ++i, sums += SquareSum::numbers) {
    for (unsigned word = 0; word < Square::words; ++word)
      all.word[word] += SquareSum::word_of(sums, word);
    all.infinite += SquareSum::is_infinite(sums) ? 1 : 0;
  }
  all.store(total);
}

void HostPrimitives::root_of_squares(const float* sum, float* root) {
  *root = static_cast<float>(std::sqrt(value_of_square_sum(sum)));
}

}  // namespace spillway::hw_backend
