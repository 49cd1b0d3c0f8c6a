#include "explore/points/front.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace spillway::explore {
namespace {

FrontPoint at(std::uint64_t number, std::vector<double> costs) { return {number, "", costs}; }

TEST(Front, KeepsWhatNothingBeats) {
  Front front;
  EXPECT_FALSE(front.beats(std::vector<double>{5, 5}));
  EXPECT_TRUE(front.add(at(1, {5, 5})).empty());
  EXPECT_TRUE(front.beats(std::vector<double>{5, 6}));
  EXPECT_FALSE(front.beats(std::vector<double>{4, 6}));
  EXPECT_TRUE(front.add(at(2, {4, 6})).empty());
  const auto beaten = front.add(at(3, {4, 5}));
  ASSERT_EQ(beaten.size(), 2u);
  EXPECT_EQ(front.points().size(), 1u);
  EXPECT_TRUE(front.has(3));
  EXPECT_FALSE(front.has(1));
}

TEST(Front, KeepsTheFirstOfEqualPoints) {
  Front front;
  front.add(at(1, {2, 3}));
  EXPECT_TRUE(front.beats(std::vector<double>{2, 3}));
  EXPECT_TRUE(front.beats(std::vector<double>{2 - 1e-12, 3}));  // a sum in another order
  EXPECT_FALSE(front.beats(std::vector<double>{2 - 1e-6, 3}));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(front.beats(std::vector<double>{-infinity, 3})) << "nothing bounds it";
}

TEST(Front, IsNotBeatenByWhatHasNoValue) {
  Front front;
  front.add(at(1, {2, 3}));
  EXPECT_FALSE(front.beats(std::vector<double>{std::nan(""), 4}));
}

}  // namespace
}  // namespace spillway::explore
