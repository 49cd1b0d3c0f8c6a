#include "hw_backend/cpu/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace spillway::hw_backend {

namespace {

float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// The value of finite bits by the formats' definition: (-1)^s x 2^(e - bias) x 1.f, or 0.f below.
double by_definition(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction =
      static_cast<double>(bits & ((1 << fraction_bits) - 1)) / (1 << fraction_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Element, EveryFiniteHalfIsItsDefinitionAndComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((half & 0x7C00) == 0x7C00) continue;
    const float value = fp16_to_fp32(half);
    EXPECT_EQ(static_cast<double>(value), by_definition(half, 5, 10)) << bits;
    EXPECT_EQ(std::signbit(value), (half & 0x8000) != 0) << bits;
    EXPECT_EQ(fp32_to_fp16(value), half) << bits;
  }
}

TEST(Element, EveryFiniteBfloatIsItsDefinitionAndComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto bfloat = static_cast<std::uint16_t>(bits);
    if ((bfloat & 0x7F80) == 0x7F80) continue;
    const float value = bf16_to_fp32(bfloat);
    EXPECT_EQ(static_cast<double>(value), by_definition(bfloat, 8, 7)) << bits;
    EXPECT_EQ(fp32_to_bf16(value), bfloat) << bits;
  }
}

/// Half-way points lie between neighbours of one sign, infinity standing for the next power of two.
template <class Widen, class Narrow>
void expect_ties_to_even(std::uint16_t infinity, double beyond, Widen widen, Narrow narrow) {
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double above = high == infinity ? beyond : widen(high);
    const double middle = (widen(low) + above) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(tie), middle);
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(narrow(tie), even) << low;
    ASSERT_EQ(narrow(-tie), even | 0x8000) << low;
    ASSERT_EQ(narrow(std::nextafter(tie, 0.0f)), low) << low;
    ASSERT_EQ(narrow(std::nextafter(tie, std::numeric_limits<float>::infinity())), high) << low;
  }
}

TEST(Element, HalvesRoundToNearestAndTiesToEven) {
  expect_ties_to_even(0x7C00, 65536.0, fp16_to_fp32, fp32_to_fp16);
}

TEST(Element, BfloatsRoundToNearestAndTiesToEven) {
  // The last tie, 2^128 - 2^119, is the middle of the largest number and 2^128.
  expect_ties_to_even(0x7F80, std::ldexp(1.0, 128), bf16_to_fp32, fp32_to_bf16);
}

TEST(Element, InfinitiesStayAndNansStayNans) {
  for (const std::uint32_t sign : {0u, 0x80000000u}) {
    EXPECT_EQ(fp32_to_fp16(of_bits(sign | 0x7F800000)), sign >> 16 | 0x7C00);
    EXPECT_EQ(fp32_to_bf16(of_bits(sign | 0x7F800000)), sign >> 16 | 0x7F80);
    // A payload that lies in the lower bits alone must not round to infinity.
    EXPECT_EQ(fp32_to_fp16(of_bits(sign | 0x7F800001)), sign >> 16 | 0x7E00);
    EXPECT_EQ(fp32_to_bf16(of_bits(sign | 0x7F800001)), sign >> 16 | 0x7FC0);
    EXPECT_EQ(fp32_to_bf16(of_bits(sign | 0x7FFFFFFF)), sign >> 16 | 0x7FFF);
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(fp16_to_fp32(0x7C00)), 0x7F800000u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(fp16_to_fp32(0xFC01)), 0xFFC02000u);
}

TEST(Element, WorksAtCompileTime) {
  static_assert(fp32_to_fp16(1.0f) == 0x3C00 && fp16_to_fp32(0x0001) == 0x1p-24f);
  static_assert(fp32_to_bf16(1.0f) == 0x3F80 && bf16_to_fp32(0xC000) == -2.0f);
  static_assert(size_of(Element::fp32) == 4 && size_of(Element::bf16) == 2);
  EXPECT_EQ(to_string(Element::fp16), "fp16");
}

}  // namespace

}  // namespace spillway::hw_backend
