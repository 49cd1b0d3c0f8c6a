#include "strategies/planner/saved/capuchin_planner.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

constexpr auto keep = CapuchinChoice::keep, swap = CapuchinChoice::swap,
               recompute = CapuchinChoice::recompute;

SavedItem item(std::uint64_t bytes, double last_forward_s, double first_backward_s,
               double again_s = 1e9, std::vector<std::uint32_t> sources = {}) {
  SavedItem made;
  made.bytes = bytes;
  made.last_forward_s = last_forward_s;
  made.first_backward_s = first_backward_s;
  made.again_s = again_s;
  made.sources = std::move(sources);
  return made;
}

/// A link of 10 B/s each way and host memory without end.
CapuchinProblem problem(std::vector<SavedItem> items, std::uint64_t need,
                        std::uint64_t host = 1'000'000) {
  return {std::move(items), need, host, 10, 10};
}

TEST(FreeTime, IsWhatIsLeftBetweenTheWayOutAndTheWayBack) {
  // 10 B take 1 s each way: away at 1 + 1, needed at 5 - 1
  EXPECT_DOUBLE_EQ(free_time_s(problem({}, 0), item(10, 1, 5)), 2);
  EXPECT_DOUBLE_EQ(free_time_s(problem({}, 0), item(20, 1, 5)), 0);
  EXPECT_DOUBLE_EQ(free_time_s(problem({}, 0), item(30, 1, 5)), -2);
  CapuchinProblem uneven = problem({}, 0);
  uneven.up_bytes_per_s = 5;
  EXPECT_DOUBLE_EQ(free_time_s(uneven, item(10, 1, 5)), 1);
}

TEST(Capuchin, KeepsAllThatFits) {
  EXPECT_THAT(plan_capuchin(problem({item(10, 0, 9), item(10, 1, 8)}, 0)), ElementsAre(keep, keep));
}

TEST(Capuchin, SwapsWhatIsHiddenMostFreeTimeFirst) {
  // free time 7, 5, 3 s
  const std::vector<SavedItem> items{item(10, 1, 8), item(10, 0, 9), item(10, 2, 7)};
  EXPECT_THAT(plan_capuchin(problem(items, 1)), ElementsAre(keep, swap, keep));
  EXPECT_THAT(plan_capuchin(problem(items, 10)), ElementsAre(keep, swap, keep));  // exactly
  EXPECT_THAT(plan_capuchin(problem(items, 11)), ElementsAre(swap, swap, keep));
  EXPECT_THAT(plan_capuchin(problem(items, 99)), ElementsAre(swap, swap, swap));
}

TEST(Capuchin, TakesTheCheaperOfLateSwapsAndRecomputation) {
  // free time -2 s: a swap costs 2 s
  EXPECT_THAT(plan_capuchin(problem({item(30, 1, 5, 1.9)}, 1)), ElementsAre(recompute));
  EXPECT_THAT(plan_capuchin(problem({item(30, 1, 5, 2.1)}, 1)), ElementsAre(swap));
  EXPECT_THAT(plan_capuchin(problem({item(30, 1, 5, 2)}, 1)), ElementsAre(swap));  // a tie
}

TEST(Capuchin, RecomputesFirstWhatSavesMostBytesASecond) {
  // 30 B in 1 s against 40 B in 1 s; swaps cost 2 and 4 s
  const std::vector<SavedItem> items{item(30, 1, 5, 1), item(40, 1, 5, 1)};
  EXPECT_THAT(plan_capuchin(problem(items, 1)), ElementsAre(keep, recompute));
  EXPECT_THAT(plan_capuchin(problem(items, 41)), ElementsAre(recompute, recompute));
}

TEST(Capuchin, CountsWhatARecomputationMustMakeOnTheWay) {
  // 1 is made from 0: alone 1.5 s, less than the swap's 2 s; 0 has been given up for 1 s, so 2.5 s
  const std::vector<SavedItem> items{item(40, 1, 5, 1), item(30, 1, 5, 1.5, {0})};
  EXPECT_THAT(plan_capuchin(problem(items, 1)), ElementsAre(recompute, keep));
  EXPECT_THAT(plan_capuchin(problem(items, 41)), ElementsAre(recompute, swap));
}

TEST(Capuchin, SwapsNoMoreThanHostMemoryHolds) {
  const std::vector<SavedItem> items{item(10, 0, 9), item(10, 1, 8), item(10, 2, 7)};
  EXPECT_THAT(plan_capuchin(problem(items, 30, 20)), ElementsAre(swap, swap, recompute));
  EXPECT_THAT(plan_capuchin(problem(items, 30, 19)), ElementsAre(swap, recompute, recompute));
  EXPECT_THAT(plan_capuchin(problem(items, 30, 0)), ElementsAre(recompute, recompute, recompute));
}

TEST(Capuchin, LeavesHostMemoryToWhatNobodyMakesAgain) {
  std::vector<SavedItem> items{item(10, 0, 9), item(10, 4, 5)};
  items[1].recomputable = false;  // free time -1 s: late, but there is no other way
  EXPECT_THAT(plan_capuchin(problem(items, 20, 10)), ElementsAre(recompute, swap));
  EXPECT_THAT(plan_capuchin(problem(items, 20, 20)), ElementsAre(swap, swap));
}

TEST(Capuchin, GivesUpAllItCanWhereThatIsNotEnough) {
  std::vector<SavedItem> items{item(10, 0, 9)};
  items[0].recomputable = false;
  EXPECT_THAT(plan_capuchin(problem(items, 99, 9)), ElementsAre(keep));
  EXPECT_THAT(plan_capuchin(problem({}, 99)), ElementsAre());
}

}  // namespace
}  // namespace spillway::strategies
