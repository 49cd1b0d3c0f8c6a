#include "scenarios/description/expert_load.hpp"

#include <gmock/gmock.h>
#include <numeric>

#include "scenarios/description/errors.hpp"

namespace spillway::description {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr double near = 1e-12;

TEST(ExpertLoad, IsEvenWhereNobodySaysMore) {
  EXPECT_THAT(ExpertLoad().shares(8, 2), Each(DoubleNear(0.125, near)));
  EXPECT_EQ(busiest_rank(ExpertLoad().shares(8, 2), 1), 1);
  EXPECT_NEAR(busiest_rank(ExpertLoad().shares(8, 2), 4), 1, near);
}

TEST(ExpertLoad, FollowsZipfWithPopularExpertsOnRanksFarApart) {
  ExpertLoad load;
  load.zipf = 1;
  // 1, 1/2, 1/3, 1/4 of 25/12: the second in the other half
  EXPECT_THAT(load.shares(4, 1),
              ElementsAre(DoubleNear(12.0 / 25, near), DoubleNear(4.0 / 25, near),
                          DoubleNear(6.0 / 25, near), DoubleNear(3.0 / 25, near)));
  EXPECT_NEAR(busiest_rank(load.shares(4, 1), 2), 2 * 16.0 / 25, near);
  // in a row the first 16 of 128 would be more than half of all
  EXPECT_LT(busiest_rank(load.shares(128, 8), 8), 2);
}

TEST(ExpertLoad, OfCountsIsTheirPartOfAll) {
  ExpertLoad load;
  load.counts = {30, 10, 50, 10};
  EXPECT_THAT(load.shares(4, 1), ElementsAre(DoubleNear(0.3, near), DoubleNear(0.1, near),
                                             DoubleNear(0.5, near), DoubleNear(0.1, near)));
  EXPECT_NEAR(busiest_rank(load.shares(4, 1), 2), 1.2, near);
}

TEST(ExpertLoad, OfNoExpertExceedsOneCopyOfEveryToken) {
  ExpertLoad load;
  load.counts = {8, 4, 2, 2};
  // a token has two different ones: no more than 1/2; what is left goes as 4 : 2 : 2
  EXPECT_THAT(load.shares(4, 2), ElementsAre(DoubleNear(0.5, near), DoubleNear(0.25, near),
                                             DoubleNear(0.125, near), DoubleNear(0.125, near)));
  load.counts = {90, 8, 1, 1};
  // of three: 1/3, and then the second is too large as well, 2/3 x 8/10
  EXPECT_THAT(load.shares(4, 3), ElementsAre(DoubleNear(1.0 / 3, near), DoubleNear(1.0 / 3, near),
                                             DoubleNear(1.0 / 6, near), DoubleNear(1.0 / 6, near)));
  const std::vector<double> all = load.shares(4, 4);
  EXPECT_NEAR(std::accumulate(all.begin(), all.end(), 0.0), 1, near);
}

TEST(ExpertLoad, RefusesCountsOfOtherExperts) {
  ExpertLoad load;
  load.counts = {1, 1, 1};
  EXPECT_THROW(load.shares(4, 1), ScenarioError);
  load.counts = {1, 0, 0, 0};
  EXPECT_THROW(load.shares(4, 2), ScenarioError);
}

}  // namespace
}  // namespace spillway::description
