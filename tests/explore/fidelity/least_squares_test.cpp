#include "explore/fidelity/least_squares.hpp"

#include <gtest/gtest.h>
#include <cmath>

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

TEST(LeastSquares, LeavesABoundThatItStartsAt) {
  const Numbers found = least_squares({{10, 0.1}, {0.1, 0.1}, {10, 10}}, line);
  EXPECT_NEAR(found[0], 2, 1e-3);
  EXPECT_NEAR(found[1], 1, 1e-3);
}

/// Rosenbrock's valley: 10 (y - x^2) and 1 - x are 0 at (1, 1).
std::vector<Numbers> valley(const std::vector<Numbers>& points) {
  std::vector<Numbers> all;
  for (const Numbers& p : points) all.push_back({10 * (p[1] - p[0] * p[0]), 1 - p[0]});
  return all;
}

TEST(LeastSquares, FollowsACurvedValleyToItsEndOrToABound) {
  const Numbers end = least_squares({{-1.2, 1}, {-5, -5}, {5, 5}, 1e-4, 100}, valley);
  EXPECT_NEAR(end[0], 1, 1e-3);
  EXPECT_NEAR(end[1], 1, 1e-3);
  // x <= 1/2: the best is at that bound, with y = 1/4
  const Numbers bound = least_squares({{-1.2, 1}, {-5, -5}, {0.5, 5}, 1e-4, 100}, valley);
  EXPECT_EQ(bound[0], 0.5);
  EXPECT_NEAR(bound[1], 0.25, 1e-3);
}

TEST(LeastSquares, SharesBetweenParametersThatAreKnownOnlyTogether) {
  const auto sum = [](const std::vector<Numbers>& points) {
    std::vector<Numbers> all;
    for (const Numbers& p : points) all.push_back({p[0] + p[1] - 5});
    return all;
  };
  const Numbers found = least_squares({{1, 1}, {0.1, 0.1}, {10, 10}}, sum);
  EXPECT_NEAR(found[0] + found[1], 5, 1e-3);
}

TEST(LeastSquares, NeverEndsAtAWorsePointThanItBegan) {
  // steps of 1/4 in which a slope says nothing about where it is lower
  const auto stairs = [](const std::vector<Numbers>& points) {
    std::vector<Numbers> all;
    for (const Numbers& p : points) all.push_back({std::floor(4 * p[0]) / 4 - 1.25});
    return all;
  };
  for (double start = 0.7; start < 2; start += 0.01) {
    const Numbers found = least_squares({{start}, {0.1}, {10}}, stairs);
    EXPECT_LE(std::abs(stairs({found})[0][0]), std::abs(stairs({{start}})[0][0])) << start;
  }
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
