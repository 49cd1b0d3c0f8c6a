#pragma once

#include "hw_backend/arithmetic/random.hpp"

#include <cstdint>
#include <limits>

/// Sums of squares that are the same in whatever order, and in whatever parts, they are made.
namespace spillway::hw_backend {

/// The square of an fp32 number as a whole number of units of 2^-160, in words of 32 bits. What is
/// below one unit is cut off each square by itself.
class Square {
 public:
  /// So many words take the sum of all squares that are not `infinite`.
  static constexpr unsigned words = 8;
  static constexpr int unit = -160;

  SPILLWAY_ANYWHERE explicit Square(std::uint32_t bits) {
    const std::uint32_t exponent = bits >> 23 & 0xFFu;
    const std::uint64_t digits = (bits & 0x7FFFFFu) | (exponent ? 0x800000u : 0u);
    // the number is digits x 2^(exponent - 150)
    place_ = 2 * (static_cast<int>(exponent ? exponent : 1) - 150) - unit;
    infinite_ = place_ > 32 * static_cast<int>(words) - 48;
    digits_ = infinite_ ? 0 : digits * digits;
  }
  /// Of infinities, NaNs and magnitudes from 2^48 on: no word has a part of it.
  SPILLWAY_ANYWHERE bool infinite() const { return infinite_; }
  SPILLWAY_ANYWHERE std::uint64_t word(unsigned i) const {
    const int shift = place_ - 32 * static_cast<int>(i);
    if (shift <= -64 || shift >= 32) return 0;
    return (shift >= 0 ? digits_ << shift : digits_ >> -shift) & 0xFFFFFFFFu;
  }

 private:
  std::uint64_t digits_ = 0;
  int place_ = 0;  ///< power of two of the last digit
  bool infinite_ = false;
};

/// A sum of squares in memory: 16 fp32 numbers, each of 16 bits of it, least first. Ranks may add
/// up so many of them that no number comes to 2^24, 256 of them; each number is exact.
///   Infinite  where one of the squares is, or their sum is too large: the last number is infinity
struct SquareSum {
  static constexpr unsigned numbers = 2 * Square::words;
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  std::uint64_t word[Square::words] = {};  ///< not carried: there is room for 2^31 squares
  std::uint64_t infinite = 0;

  SPILLWAY_ANYWHERE void add(const Square& square) {
    for (unsigned i = 0; i < Square::words; ++i) word[i] += square.word(i);
    infinite += square.infinite() ? 1 : 0;
  }
  /// What lies in memory.
  SPILLWAY_ANYWHERE static std::uint64_t word_of(const float* sum, unsigned i) {
    if (is_infinite(sum)) return 0;
    return static_cast<std::uint64_t>(sum[2 * i]) +
           (static_cast<std::uint64_t>(sum[2 * i + 1]) << 16);
  }
  SPILLWAY_ANYWHERE static bool is_infinite(const float* sum) {
    return !(sum[numbers - 1] <= 4294967296.0f);
  }
  SPILLWAY_ANYWHERE void store(float* sum) const {
    std::uint64_t carry = 0;
    for (unsigned i = 0; i < Square::words; ++i) {
      carry += word[i];
      sum[2 * i] = static_cast<float>(carry & 0xFFFFu);
      sum[2 * i + 1] = static_cast<float>(carry >> 16 & 0xFFFFu);
      carry >>= 32;
    }
    if (infinite || carry) sum[numbers - 1] = infinity;
  }
};

/// The sum, in fp64: each step is exact but for its rounding, in one written order.
SPILLWAY_ANYWHERE inline double value_of_square_sum(const float* sum) {
  double value = 0;
  for (unsigned i = SquareSum::numbers; i > 0; --i) value = value * 65536.0 + sum[i - 1];
  for (int i = 0; i > Square::unit; i -= 32) value *= 1.0 / 4294967296.0;
  return value;
}

}  // namespace spillway::hw_backend
