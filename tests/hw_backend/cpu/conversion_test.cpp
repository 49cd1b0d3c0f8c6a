#include "hw_backend/cpu/conversion.hpp"

#include <gtest/gtest.h>

#include "tests/hw_backend/cpu/arrays.hpp"

namespace spillway::hw_backend {

namespace {

/// Element by element with the scalar functions; NaNs of sums are 0x7FC00000.
void add_reference(TestArray& into, const TestArray& a, const TestArray& b) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    const float sum = load(a.array(), i) + load(b.array(), i);
    store(into.array(), i, sum == sum ? sum : std::bit_cast<float>(0x7FC00000u));
  }
}

class Conversion : public testing::TestWithParam<Isa> {};

TEST_P(Conversion, GivesTheScalarBitsForEverySixteenBitPattern) {
  Team team(1, GetParam());
  for (const Element from : {Element::fp16, Element::bf16}) {
    TestArray source(from, 65536);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) source.set_bits(bits, bits);
    for (const Element into : all_elements) {
      if (into == from) continue;
      TestArray target(into, 65536), expected(into, 65536);
      convert(target.array(), source.array(), 65536, team);
      for (std::size_t i = 0; i < 65536; ++i) {
        store(expected.array(), i, load(source.array(), i));
      }
      EXPECT_TRUE(target == expected) << to_string(from) << " to " << to_string(into);
    }
  }
}

TEST_P(Conversion, GivesTheScalarBitsAroundEveryStepOfSixteenBits) {
  Team team(1, GetParam());
  // Every upper half with lower halves below, on and above the ties of both formats.
  const std::uint32_t lower[] = {0,      1,      0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000,
                                 0x7FFF, 0x8000, 0x8001, 0xEFFF, 0xF000, 0xFFFF};
  TestArray source(Element::fp32, 65536 * std::size(lower));
  for (std::size_t i = 0; i < source.size(); ++i) {
    source.set_bits(
        i, static_cast<std::uint32_t>(i / std::size(lower)) << 16 | lower[i % std::size(lower)]);
  }
  for (const Element into : {Element::fp16, Element::bf16}) {
    TestArray target(into, source.size()), expected(into, source.size());
    convert(target.array(), source.array(), source.size(), team);
    for (std::size_t i = 0; i < source.size(); ++i) {
      store(expected.array(), i, load(source.array(), i));
    }
    EXPECT_TRUE(target == expected) << to_string(into);
  }
}

TEST_P(Conversion, TakesAnyLengthAndStartAndTouchesNothingElse) {
  Team team(2, GetParam());
  for (const std::size_t n : lengths) {
    for (const std::size_t shift : {0, 1, 5, 31}) {
      for (const Element from : all_elements) {
        for (const Element into : all_elements) {
          TestArray source(from, n, 31 - shift), target(into, n, shift), expected(into, n);
          fill_any(source, static_cast<std::uint32_t>(n + shift));
          convert(target.array(), source.array(), n, team);
          for (std::size_t i = 0; i < n; ++i) {
            if (from == into) {
              expected.set_bits(i, source.bits(i));
            } else {
              store(expected.array(), i, load(source.array(), i));
            }
          }
          ASSERT_TRUE(target == expected) << n << " from " << shift;
          ASSERT_TRUE(target.guards_whole()) << n << " from " << shift;
        }
      }
    }
  }
}

TEST_P(Conversion, ConvertsInPlaceBetweenTypesOfOneSize) {
  Team team(2, GetParam());
  TestArray values(Element::fp16, 70001, 3), expected(Element::bf16, 70001);
  fill_any(values, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    store(expected.array(), i, load(values.array(), i));
  }
  convert({values.array().data, Element::bf16}, values.array(), values.size(), team);
  EXPECT_TRUE(values == expected);
}

TEST_P(Conversion, AddsInFp32AndRoundsOnce) {
  Team team(2, GetParam());
  for (const std::size_t n : {std::size_t(1), std::size_t(33), std::size_t(1027)}) {
    for (const Element of_a : all_elements) {
      for (const Element of_b : all_elements) {
        for (const Element into : all_elements) {
          TestArray a(of_a, n, 1), b(of_b, n, 2), sum(into, n, 3), expected(into, n);
          fill_any(a, 1);
          fill_any(b, 2);
          add_reference(expected, a, b);
          add(sum.array(), a.array(), b.array(), n, team);
          ASSERT_TRUE(sum == expected) << to_string(of_a) << " + " << to_string(of_b);
          ASSERT_TRUE(sum.guards_whole());
          if (size_of(into) != size_of(of_a)) continue;
          add({a.array().data, into}, a.array(), b.array(), n, team);
          ASSERT_TRUE(a == expected) << "in place, " << to_string(into);
        }
      }
    }
  }
}

TEST_P(Conversion, WritesLargeResultsPastTheCachesWithTheSameBits) {
  Team team(2, GetParam());
  const std::size_t n = (std::size_t(12) << 20) + 13;  // 24 MiB of 16 bits
  TestArray source(Element::fp32, n), aligned(Element::bf16, n), shifted(Element::bf16, n, 1);
  fill_any(source, 7);
  convert(aligned.array(), source.array(), n, team);
  convert(shifted.array(), source.array(), n, team);
  EXPECT_TRUE(aligned == shifted);
  TestArray copied(Element::fp32, n, 5);
  copy(copied.array().data, source.array().data, n * 4, team);
  EXPECT_TRUE(copied == source);
  EXPECT_TRUE(aligned.guards_whole() && copied.guards_whole());
}

TEST_P(Conversion, CopiesAnyNumberOfBytes) {
  Team team(2, GetParam());
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 4095, 262143, 262144, 262145, 1000003}) {
    TestArray source(Element::fp16, bytes / 2 + 1, 1), target(Element::fp16, bytes / 2 + 1);
    fill_any(source, 3);
    TestArray expected(target);
    std::memcpy(expected.array().data, source.array().data, bytes);
    copy(target.array().data, source.array().data, bytes, team);
    EXPECT_TRUE(target == expected) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(On, Conversion, testing::ValuesIn(available_isas()),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(Addition, AddsHalvesWithoutRoundingBetween) {
  // 2048 + 1 is no half: the tie goes to 2048. 2049 is exact in fp32, so 2048 + 3 = 2051 -> 2052.
  Team team(1);
  TestArray a(Element::fp16, 2), b(Element::fp32, 2);
  store(a.array(), 0, 2048);
  store(a.array(), 1, 2048);
  store(b.array(), 0, 1);
  store(b.array(), 1, 3);
  add(a.array(), a.array(), b.array(), 2, team);
  EXPECT_EQ(load(a.array(), 0), 2048);
  EXPECT_EQ(load(a.array(), 1), 2052);
}

}  // namespace

}  // namespace spillway::hw_backend
