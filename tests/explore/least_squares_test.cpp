#include "explore/least_squares.hpp"

#include <gtest/gtest.h>

namespace spillway::explore {
namespace {

/// Residuals of y = a x + b through (0, 1) (1, 3) (2, 5): a = 2, b = 1.
std::vector<Numbers> line(const std::vector<Numbers>& points) {
  std::vector<Numbers> all;
  for (const Numbers& p : points) all.push_back({p[1] - 1, p[0] + p[1] - 3, 2 * p[0] + p[1] - 5});
  return all;
}

TEST(LeastSquares, FindsWhatMakesTheResidualsZero) {
  const Numbers found = least_squares({{1, 3}, {0.1, 0.1}, {10, 10}}, line);
  EXPECT_NEAR(found[0], 2, 1e-3);
  EXPECT_NEAR(found[1], 1, 1e-3);
}

TEST(LeastSquares, StopsAtABoundAndFitsTheRest) {
  // a <= 1: b alone has residuals b - 1, b - 2, b - 3, least at their mean 2
  const Numbers found = least_squares({{1, 3}, {0.1, 0.1}, {1, 10}}, line);
  EXPECT_NEAR(found[0], 1, 1e-3);
  EXPECT_NEAR(found[1], 2, 1e-3);
}

TEST(LeastSquares, LeavesAParameterAloneThatNothingDependsOn) {
  const Numbers found =
      least_squares({{4, 5}, {1, 1}, {9, 9}}, [](const std::vector<Numbers>& points) {
        std::vector<Numbers> all;
        for (const Numbers& p : points) all.push_back({p[0] - 3});
        return all;
      });
  EXPECT_NEAR(found[0], 3, 1e-3);
  EXPECT_EQ(found[1], 5);
}

TEST(LeastSquares, HandsOnWhatTheResidualsThrow) {
  EXPECT_THROW(least_squares({{1}, {0}, {2}},
                             [](const std::vector<Numbers>&) -> std::vector<Numbers> {
                               throw std::out_of_range("no");
                             }),
               std::out_of_range);
}

TEST(Jacobian, IsCentralInsideAndOneSidedAtABound) {
  // x^2 at 2: central differences give 4 exactly; at the bound 2 with step 0.1:
  // (4 - 1.8^2) / 0.2 = 3.8
  const auto square = [](const std::vector<Numbers>& points) {
    std::vector<Numbers> all;
    for (const Numbers& p : points) all.push_back({p[0] * p[0]});
    return all;
  };
  EXPECT_NEAR(jacobian({{2}, {1}, {3}, 0.1}, {2}, square)[0][0], 4, 1e-12);
  EXPECT_NEAR(jacobian({{2}, {1}, {2}, 0.1}, {2}, square)[0][0], 3.8, 1e-12);
  EXPECT_EQ(jacobian({{2}, {2}, {2}, 0.1}, {2}, square)[0][0], 0);  // cannot move at all
}

TEST(Jacobian, AsksForAllPointsAtOnce) {
  int calls = 0;
  jacobian({{1, 1}, {0, 0}, {2, 2}}, {1, 1}, [&](const std::vector<Numbers>& points) {
    ++calls;
    EXPECT_EQ(points.size(), 4u);
    return line(points);
  });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace spillway::explore
