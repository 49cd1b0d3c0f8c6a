#include "explore/points/interval.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace spillway::explore {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The range over x in [1, 2] and y in [-3, infinity).
Interval range(const std::string& text) {
  const Expression expression(text);
  std::vector<Interval> values;
  for (const std::string& name : expression.names())
    values.push_back(name == "x" ? Interval{1, 2} : Interval{-3, infinity});
  return range_of(expression, values);
}

void expect(const std::string& text, double least, double most) {
  EXPECT_EQ(range(text).least, least) << text;
  EXPECT_EQ(range(text).most, most) << text;
}

TEST(Range, OfArithmetic) {
  expect("x + 1", 2, 3);
  expect("1 - x", -1, 0);
  expect("-x", -2, -1);
  expect("x * -2", -4, -2);
  expect("4 / x", 2, 4);
  expect("y + x", -2, infinity);
  expect("x * y", -6, infinity);
}

TEST(Range, OfWhatMayDivideByZeroIsAnything) {
  expect("1 / y", -infinity, infinity);
  expect("x / (x - 1)", -infinity, infinity);
  expect("0 * y", -infinity, infinity);  // 0 x infinity has no value
}

TEST(Range, OfComparisonsSaysWhatIsCertain) {
  expect("x < 3", 1, 1);
  expect("x < 2", 0, 1);
  expect("x <= 2", 1, 1);
  expect("x < 1", 0, 0);
  expect("x > 2", 0, 0);
  expect("x >= 2", 0, 1);
  expect("y >= -3", 1, 1);
  expect("x == 3", 0, 0);
  expect("x == 1", 0, 1);
  expect("2 == 2", 1, 1);
  expect("x != 3", 1, 1);
}

TEST(Range, OfLogic) {
  expect("x < 1 or y > 0", 0, 1);
  expect("x < 1 and y > 0", 0, 0);
  expect("x > 0 or y > 0", 1, 1);
  expect("not x", 0, 0);
  expect("not (x < 2)", 0, 1);
  expect("not y", 0, 1);
}

}  // namespace
}  // namespace spillway::explore
