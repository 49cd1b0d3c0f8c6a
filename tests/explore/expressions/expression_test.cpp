#include "explore/expressions/expression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace spillway::explore {
namespace {

double value(const std::string& text, const std::map<std::string, double>& names = {}) {
  return Expression(text)([&](const std::string& name) { return names.at(name); });
}

std::string refusal(const std::string& text) {
  try {
    const Expression expression(text);
  } catch (const ExpressionError& error) {
    return std::to_string(error.column()) + ": " + error.what();
  }
  return "";
}

TEST(Expression, BindsTimesBeforePlusAndFromTheLeft) {
  EXPECT_EQ(value("2 + 3 * 4"), 14);
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("24 / 4 / 3"), 2);
  EXPECT_EQ(value("-2 * -3"), 6);
  EXPECT_EQ(value("2 - -3"), 5);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("12.1e9 / 1E9"), 12.1);
  EXPECT_EQ(value("\t7 "), 7);
}

TEST(Expression, ComparesSumsAndJoinsComparisons) {
  EXPECT_EQ(value("1 + 1 == 2"), 1);
  EXPECT_EQ(value("1 != 1"), 0);
  EXPECT_EQ(value("2 < 2"), 0);
  EXPECT_EQ(value("2 <= 2"), 1);
  EXPECT_EQ(value("2 > 1 and 3 >= 4"), 0);
  EXPECT_EQ(value("2 > 1 && 4 >= 4"), 1);
  EXPECT_EQ(value("0 || 0.5"), 1);
  EXPECT_EQ(value("1 or 0 and 0"), 1);  // and binds before or
  EXPECT_EQ(value("not 1 == 2"), 1);
  EXPECT_EQ(value("not not 3"), 1);
}

TEST(Expression, AsksForEachNameOnce) {
  int asked = 0;
  const Expression ratio("(a.peak_bytes.host - b.x) / a.peak_bytes.host");
  EXPECT_EQ(ratio.names(), (std::vector<std::string>{"a.peak_bytes.host", "b.x"}));
  EXPECT_EQ(ratio([&](const std::string& name) {
              ++asked;
              return name == "b.x" ? 1.0 : 4.0;
            }),
            0.75);
  EXPECT_EQ(asked, 2);
}

TEST(Expression, TakesWordsThatBeginLikeAnOperatorForNames) {
  EXPECT_EQ(value("order + android - nothing", {{"order", 1}, {"android", 2}, {"nothing", 3}}), 0);
  EXPECT_EQ(value("storage[0].count * and_1", {{"storage[0].count", 3}, {"and_1", 2}}), 6);
}

TEST(Expression, DividesByZeroAsFloatingPointDoes) {
  EXPECT_TRUE(std::isinf(value("1 / 0")));
  EXPECT_TRUE(std::isnan(value("0 / 0")));
}

TEST(Expression, SaysWhereItStopsBeingOne) {
  EXPECT_EQ(refusal(""), "1: a number, a name or a bracket is missing");
  EXPECT_EQ(refusal("1 +"), "4: a number, a name or a bracket is missing");
  EXPECT_EQ(refusal("1 2"), "3: an operator should stand here");
  EXPECT_EQ(refusal("a < b < c"), "7: an operator should stand here");
  EXPECT_EQ(refusal("(1"), "3: a closing bracket is missing");
  EXPECT_EQ(refusal("1)"), "2: an operator should stand here");
  EXPECT_EQ(refusal("2 * %"), "5: a number, a name or a bracket should stand here");
  EXPECT_EQ(refusal("a..b"), "5: after a dot a word should follow");
  EXPECT_EQ(refusal("1e999"), "1: this number is too large or too small");
}

TEST(Expression, EndsAt64LevelsOfBrackets) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '(') + "1" +
           std::string(static_cast<std::size_t>(levels), ')');
  };
  EXPECT_EQ(value(nested(63)), 1);  // the expression itself is the first level
  EXPECT_EQ(refusal(nested(64)), "65: nested deeper than 64 levels");
}

}  // namespace
}  // namespace spillway::explore
