#include "reports/trace/trace_lanes.hpp"

#include <gmock/gmock.h>
#include <algorithm>
#include <random>

namespace spillway::reports {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::size_t> lanes_of(std::vector<Interval> intervals) { return lanes(intervals); }

TEST(Lanes, AreOneForBarsThatTouch) {
  EXPECT_THAT(lanes_of({{0, 5}, {5, 9}, {9, 9}}), ElementsAre(0, 0, 0));
}

// A viewer would draw the inner one as called by the outer one.
TEST(Lanes, AreTwoForBarsInsideEachOther) {
  EXPECT_THAT(lanes_of({{0, 9}, {2, 5}, {3, 4}, {5, 9}}), ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(lanes_of({{0, 5}, {0, 9}, {0, 5}}), ElementsAre(0, 2, 1));  // the shorter first
  // what takes no time stands before what begins at that instant
  EXPECT_THAT(lanes_of({{0, 2}, {2, 5}, {2, 2}}), ElementsAre(0, 0, 0));
}

TEST(Lanes, AreTwoForBarsThatOverlapByOneTick) {
  EXPECT_THAT(lanes_of({{0, 6}, {5, 9}}), ElementsAre(0, 1));
}

TEST(Lanes, AreUsedAgainOnceThereIsRoom) {
  // 0-4 and 2-6 overlap, 3-8 both of them; at 6 the first lane has been free since 4
  EXPECT_THAT(lanes_of({{0, 4}, {2, 6}, {3, 8}, {6, 9}}), ElementsAre(0, 1, 2, 0));
}

TEST(Lanes, AreNoneForNothing) { EXPECT_THAT(lanes_of({}), IsEmpty()); }

TEST(Lanes, NeverHoldBarsThatOverlap) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Interval> intervals;
    for (std::size_t n = random() % 40; n > 0; --n) {
      const auto start = static_cast<std::int64_t>(random() % 50);
      intervals.push_back({start, start + static_cast<std::int64_t>(random() % 12)});
    }
    const std::vector<std::size_t> lane = lanes(intervals);
    ASSERT_EQ(lane.size(), intervals.size());
    for (std::size_t i = 0; i < intervals.size(); ++i)
      for (std::size_t j = 0; j < intervals.size(); ++j) {
        const Interval &a = intervals[i], &b = intervals[j];
        const bool overlap = i != j && a.start < b.end && b.start < a.end;
        EXPECT_FALSE(overlap && lane[i] == lane[j]) << i << " and " << j;
      }
  }
}

}  // namespace
}  // namespace spillway::reports
