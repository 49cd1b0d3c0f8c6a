#include "hw_backend/arithmetic/square_sum.hpp"
#include "hw_backend/arithmetic/host_primitives.hpp"

#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <vector>

namespace spillway::hw_backend::square_sum_test {
namespace {

using Sum = std::array<float, SquareSum::numbers>;

Sum sum_of(const std::vector<float>& values, std::size_t first, std::size_t count) {
  HostPrimitives primitives;
  Sum sum{};
  primitives.sum_squares(count,
                         {reinterpret_cast<const std::byte*>(values.data() + first), Element::fp32},
                         sum.data());
  return sum;
}
Sum sum_of(const std::vector<float>& values) { return sum_of(values, 0, values.size()); }

Sum total_of(const std::vector<Sum>& sums) {
  HostPrimitives primitives;
  Sum total{};
  primitives.add_squares(sums.size(), sums.front().data(), total.data());
  return total;
}

float norm_of(const Sum& sum) {
  HostPrimitives primitives;
  float root = 0;
  primitives.root_of_squares(sum.data(), &root);
  return root;
}

/// Magnitudes over 60 powers of two, whose squares no floating-point number sums in any order.
std::vector<float> uneven(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::ldexp(1.0f + static_cast<float>(i * 2654435761u % 8191) / 8192.0f,
                           static_cast<int>(i * 37 % 60) - 40) *
                (i % 3 == 0 ? -1.0f : 1.0f);
  return values;
}

TEST(SquareSum, IsTheNorm) {
  EXPECT_EQ(norm_of(sum_of({})), 0.0f);
  EXPECT_EQ(norm_of(sum_of({3, -4})), 5.0f);
  EXPECT_EQ(norm_of(sum_of({0x1p-60f, 0, -0.0f})), 0x1p-60f);
  EXPECT_EQ(norm_of(sum_of({0x1p47f})), 0x1p47f);
  double squares = 0;
  for (const float value : uneven(1000)) squares += double{value} * double{value};
  EXPECT_FLOAT_EQ(norm_of(sum_of(uneven(1000))), static_cast<float>(std::sqrt(squares)));
}

TEST(SquareSum, HasTheSameBitsInWhateverPartsItIsMade) {
  const std::vector<float> values = uneven(1003);
  const Sum whole = sum_of(values);
  for (const std::size_t cut : {1u, 500u, 1002u}) {
    const Sum head = sum_of(values, 0, cut), tail = sum_of(values, cut, values.size() - cut);
    EXPECT_EQ(total_of({tail, head}), whole);
    Sum reduced{};  // as ranks add up, number by number
    for (std::size_t i = 0; i < reduced.size(); ++i) reduced[i] = head[i] + tail[i];
    EXPECT_EQ(total_of({reduced}), whole);
    EXPECT_EQ(norm_of(reduced), norm_of(whole));
  }
  std::vector<float> backwards(values.rbegin(), values.rend());
  EXPECT_EQ(sum_of(backwards), whole);
}

TEST(SquareSum, IsInfiniteWhereASquareIsOrHasNoPlace) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float odd : {infinity, -infinity, std::nanf(""), 0x1p48f}) {
    EXPECT_EQ(norm_of(sum_of({1, odd, 2})), infinity);
    EXPECT_EQ(norm_of(total_of({sum_of({1}), sum_of({odd}), sum_of({2})})), infinity);
  }
  // the sum of all has room for 2^96 at most
  EXPECT_EQ(norm_of(sum_of({0x1.8p47f, 0x1.8p47f})), infinity);
}

TEST(SquareSum, CutsOffWhatIsBelowItsUnitOnly) {
  EXPECT_EQ(norm_of(sum_of({0x1p-80f})), 0x1p-80f);
  EXPECT_EQ(norm_of(sum_of({0x1p-81f, 0x1p-149f})), 0.0f);
}

}  // namespace
}  // namespace spillway::hw_backend::square_sum_test
