#include "hw_backend/cpu/overflow_check.hpp"

#include <gtest/gtest.h>

#include "tests/hw_backend/cpu/arrays.hpp"

namespace spillway::hw_backend {

namespace {

struct Answer {
  bool fused, chained;
};

Answer ask(const TestArray& values, Element type, Isa isa) {
  Team team(2, isa);
  TestArray absolute(type, values.size());
  std::vector<std::byte> matches(values.size());
  const bool fused = check_fused(values.array(), values.size(), team);
  return {fused,
          check_chained(values.array(), values.size(), absolute.array(), matches.data(), isa)};
}

bool is_overflow(Element type, std::uint32_t bits) {
  const std::uint32_t exponent = type == Element::fp32   ? 0x7F800000
                                 : type == Element::fp16 ? 0x7C00
                                                         : 0x7F80;
  return (bits & exponent) == exponent;
}

class OverflowCheck : public testing::TestWithParam<Isa> {};

TEST_P(OverflowCheck, FindsInfinitiesAndNansAndNothingElse) {
  const std::uint32_t cases[3][12] = {
      {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0,
       0x80000000, 1, 0x007FFFFF, 0x3F800000},
      {0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFFFF, 0x7BFF, 0xFBFF, 0, 0x8000, 1, 0x03FF, 0x3C00},
      {0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0xFFFF, 0x7F7F, 0xFF7F, 0, 0x8000, 1, 0x007F, 0x3F80}};
  for (const Element type : all_elements) {
    for (const std::uint32_t bits : cases[static_cast<int>(type)]) {
      // Alone; inside a vector; in the last vector; in the tail.
      for (const auto& [n, place] :
           {std::pair<std::size_t, std::size_t>(1, 0), {5000, 17}, {4096, 4095}, {4099, 4098}}) {
        TestArray values(type, n, 1);
        for (std::size_t i = 0; i < n; ++i) values.set_bits(i, 0);
        values.set_bits(place, bits);
        const Answer answer = ask(values, type, GetParam());
        EXPECT_EQ(answer.fused, is_overflow(type, bits)) << to_string(type) << " " << bits;
        EXPECT_EQ(answer.chained, is_overflow(type, bits)) << to_string(type) << " " << bits;
      }
    }
  }
}

TEST_P(OverflowCheck, AnswersForEverySixteenBitPattern) {
  for (const Element type : {Element::fp16, Element::bf16}) {
    Team team(1, GetParam());
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      TestArray values(type, 1);
      values.set_bits(0, bits);
      ASSERT_EQ(check_fused(values.array(), 1, team), is_overflow(type, bits)) << bits;
    }
    TestArray finite(type, 65536);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      finite.set_bits(bits, is_overflow(type, bits) ? 0 : bits);
    }
    EXPECT_FALSE(ask(finite, type, GetParam()).fused);
    EXPECT_FALSE(ask(finite, type, GetParam()).chained);
  }
}

TEST_P(OverflowCheck, FindsOneAtAnyPlaceOfAnyLength) {
  for (const Element type : all_elements) {
    for (const std::size_t n : lengths) {
      TestArray values(type, n, 3);
      fill_normal(values, 1, 1);
      EXPECT_FALSE(ask(values, type, GetParam()).fused) << n;
      EXPECT_FALSE(ask(values, type, GetParam()).chained) << n;
      for (const std::size_t place : {std::size_t(0), n / 3, n / 2, n - 1}) {
        if (place >= n) continue;
        const std::uint32_t before = values.bits(place);
        values.set_bits(place, 0xFFFFFFFF);
        EXPECT_TRUE(ask(values, type, GetParam()).fused) << place << " of " << n;
        EXPECT_TRUE(ask(values, type, GetParam()).chained) << place << " of " << n;
        values.set_bits(place, before);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, OverflowCheck, testing::ValuesIn(available_isas()),
                         [](const auto& each) { return std::string(to_string(each.param)); });

}  // namespace

}  // namespace spillway::hw_backend
