#include "strategies/layout/placement.hpp"

#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace spillway::strategies {
namespace {

using description::InternalError;
using ::testing::ElementsAre;

using Shares = std::vector<std::uint64_t>;

constexpr std::uint64_t plenty = 1'000'000;

/// Equation 1; without `room` there is plenty everywhere.
Shares split(std::uint64_t groups, const std::vector<double>& bandwidth, Shares room = {}) {
  room.resize(bandwidth.size(), plenty);
  return split_over_paths(groups, bandwidth, room);
}

TEST(Placement, SharesFollowBandwidth) {
  EXPECT_THAT(split(9, {2, 1}), ElementsAre(6, 3));
  EXPECT_THAT(split(10, {5.3e9, 3.6e9}), ElementsAre(6, 4));  // 5.96 and 4.04
  EXPECT_THAT(split(7, {3}), ElementsAre(7));
  EXPECT_THAT(split(0, {2, 1}), ElementsAre(0, 0));
}

TEST(Placement, WhatIsLeftOverGoesToTheLargestRemainder) {
  EXPECT_THAT(split(10, {2, 1}), ElementsAre(7, 3));             // 6.67 and 3.33
  EXPECT_THAT(split(11, {2, 1}), ElementsAre(7, 4));             // 7.33 and 3.67
  EXPECT_THAT(split(5, {1, 2, 3}), ElementsAre(1, 2, 2));        // 0.83, 1.67, 2.5: two of them
  EXPECT_THAT(split(1, {1, 2, 4}), ElementsAre(0, 0, 1));        // 0.14, 0.29, 0.57
  EXPECT_THAT(split(97, {5.3, 3.6}), ElementsAre(58, 39));       // 57.8 and 39.2
  EXPECT_THAT(split(3, {0.1, 0.2, 0.3}), ElementsAre(0, 1, 2));  // 0.5, 1, 1.5: see the ties
}

TEST(Placement, OfEqualRemaindersTheFasterPathGetsItThenTheFirst) {
  EXPECT_THAT(split(2, {1, 3}), ElementsAre(0, 2));  // 0.5 and 1.5
  EXPECT_THAT(split(2, {3, 1}), ElementsAre(2, 0));
  EXPECT_THAT(split(3, {1, 1}), ElementsAre(2, 1));        // 1.5 each
  EXPECT_THAT(split(4, {1, 1, 1}), ElementsAre(2, 1, 1));  // 1.33 each
  EXPECT_THAT(split(5, {1, 1, 1}), ElementsAre(2, 2, 1));
}

TEST(Placement, APathWithoutBandwidthGetsNothing) {
  EXPECT_THAT(split(5, {0, 1}), ElementsAre(0, 5));
  EXPECT_THAT(split(5, {1, 0, 1}), ElementsAre(3, 0, 2));
  EXPECT_THROW((void)split(5, {0, 0}), InternalError);
  EXPECT_THROW((void)split(5, {}), InternalError);
  EXPECT_THROW((void)split_over_paths(5, std::vector<double>{1, 1}, Shares{5}), InternalError);
}

TEST(Placement, WhatExceedsAPathsRoomIsSplitAmongTheOthers) {
  EXPECT_THAT(split(9, {2, 1}, {6, 3}), ElementsAre(6, 3));  // exactly full
  EXPECT_THAT(split(9, {2, 1}, {5, 9}), ElementsAre(5, 4));  // one over
  EXPECT_THAT(split(9, {2, 1}, {0, 9}), ElementsAre(0, 9));
  // 12 : 6 : 2 of 20; the first holds 4, and its 8 are shared 3 : 1
  EXPECT_THAT(split(20, {6, 3, 1}, {4, 20, 20}), ElementsAre(4, 12, 4));
  // now the second is full as well, after 7 of its 12
  EXPECT_THAT(split(20, {6, 3, 1}, {4, 7, 20}), ElementsAre(4, 7, 9));
  // a path without bandwidth takes nothing, however full the others are
  EXPECT_THAT(split(9, {2, 1, 0}, {5, 3, 9}), ElementsAre(6, 3, 0));
}

TEST(Placement, WhenNoRoomIsLeftTheRestStaysWithTheFastest) {
  EXPECT_THAT(split(9, {1, 2}, {3, 4}), ElementsAre(3, 6));
  EXPECT_THAT(split(9, {1, 1}, {0, 0}), ElementsAre(9, 0));
}

TEST(Placement, AnyBandwidthsGiveWholeSharesNearTheIdeal) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t groups = random() % 400;
    std::vector<double> bandwidth(1 + random() % 5);
    for (double& each : bandwidth)  // small whole numbers, for ties, or any
      each = i % 2 ? static_cast<double>(random() % 4) : static_cast<double>(random() % 10'000'000);
    bandwidth.back() += 1;
    const double all = std::accumulate(bandwidth.begin(), bandwidth.end(), 0.0);
    const Shares shares = split(groups, bandwidth);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}), groups);
    for (std::size_t path = 0; path < shares.size(); ++path)
      EXPECT_LT(std::abs(static_cast<double>(shares[path]) -
                         static_cast<double>(groups) * bandwidth[path] / all),
                1);
  }
}

TEST(Placement, AnyRoomIsKeptWhereThereIsEnough) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    std::vector<double> bandwidth(1 + random() % 4);
    Shares room(bandwidth.size());
    for (double& each : bandwidth) each = static_cast<double>(1 + random() % 9);
    for (std::uint64_t& each : room) each = random() % 20;
    const std::uint64_t space = std::accumulate(room.begin(), room.end(), std::uint64_t{0});
    const std::uint64_t groups = random() % (space + 1);
    const Shares shares = split(groups, bandwidth, room);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}), groups);
    for (std::size_t path = 0; path < shares.size(); ++path) EXPECT_LE(shares[path], room[path]);
  }
}

// ---- Order

std::vector<std::size_t> order(const Shares& shares, int length) {
  PlacementOrder next(shares);
  std::vector<std::size_t> paths;
  for (int i = 0; i < length; ++i) paths.push_back(next.next());
  return paths;
}

TEST(PlacementOrder, GivesEachPathWorkAllTheTime) {
  EXPECT_THAT(order({2, 1}, 6), ElementsAre(0, 1, 0, 0, 1, 0));
  EXPECT_THAT(order({4, 2}, 6), ElementsAre(0, 1, 0, 0, 1, 0));
  EXPECT_THAT(order({1, 3}, 4), ElementsAre(1, 0, 1, 1));  // 1:3, 2:2 a tie, -1:5, 0:4
  EXPECT_THAT(order({1, 1}, 4), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(order({1, 1, 1}, 6), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(PlacementOrder, APathAloneGetsAllAndOneWithoutShareNothing) {
  EXPECT_THAT(order({7}, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(order({0, 1, 0}, 3), ElementsAre(1, 1, 1));
  EXPECT_THROW(PlacementOrder({0, 0}), InternalError);
}

TEST(PlacementOrder, AnySharesAreMetInEveryRoundAndSpreadOverIt) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    Shares shares(1 + random() % 4);
    for (std::uint64_t& each : shares) each = random() % 30;
    shares.back() += 1;
    const auto total = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
    PlacementOrder next(shares);
    Shares given(shares.size());
    for (std::uint64_t k = 1; k <= 2 * total; ++k) {
      ++given[next.next()];
      for (std::size_t path = 0; path < shares.size(); ++path) {
        const double due = static_cast<double>(k * shares[path]) / static_cast<double>(total);
        EXPECT_LT(static_cast<double>(given[path]), due + 1);  // nobody is ahead by one
        if (shares.size() == 2) {
          EXPECT_GT(static_cast<double>(given[path]), due - 1);
        }
        if (k % total == 0) {
          EXPECT_EQ(given[path], k / total * shares[path]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace spillway::strategies
