#include "scenarios/description/expert_load.hpp"

#include <gmock/gmock.h>
#include <numeric>

#include "scenarios/description/errors.hpp"

namespace spillway::description {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;

constexpr double near = 1e-12;

TEST(ExpertLoad, IsEvenWhereNobodySaysMore) {
  EXPECT_THAT(ExpertLoad().shares(8, 2), Each(DoubleNear(0.125, near)));
  // 10 tokens x 2 over 4 experts: 5 each
  EXPECT_THAT(ExpertLoad().copies(4, 2, 10), Each(5));
}

TEST(ExpertLoad, FollowsZipfWithPopularExpertsOnRanksFarApart) {
  ExpertLoad load;
  load.zipf = 1;
  // 1, 1/2, 1/3, 1/4 of 25/12: the second in the other half
  EXPECT_THAT(load.shares(4, 1),
              ElementsAre(DoubleNear(12.0 / 25, near), DoubleNear(4.0 / 25, near),
                          DoubleNear(6.0 / 25, near), DoubleNear(3.0 / 25, near)));
  // of 2,500 tokens; 1,600 would go to two popular experts in a row
  EXPECT_THAT(copies_of_ranks(load.copies(4, 1, 2500), 2), ElementsAre(1600, 900));
  // in a row the first 16 of 128 would be more than half of all 8,000
  EXPECT_THAT(copies_of_ranks(load.copies(128, 8, 1000), 8), Each(Lt(2000)));
}

TEST(ExpertLoad, OfCountsIsTheirPartOfAll) {
  ExpertLoad load;
  load.counts = {30, 10, 50, 10};
  EXPECT_THAT(load.shares(4, 1), ElementsAre(DoubleNear(0.3, near), DoubleNear(0.1, near),
                                             DoubleNear(0.5, near), DoubleNear(0.1, near)));
  EXPECT_THAT(copies_of_ranks(load.copies(4, 1, 100), 2), ElementsAre(40, 60));
  EXPECT_THAT(copies_of_ranks(load.copies(4, 1, 100), 1), ElementsAre(100));
}

TEST(ExpertLoad, GivesWholeCopiesThatAddUpAndNoExpertMoreThanThereAreTokens) {
  // 7 x 2 = 14 over 4: 3.5 each, the first get what is left
  EXPECT_THAT(ExpertLoad().copies(4, 2, 7), ElementsAre(4, 4, 3, 3));
  ExpertLoad load;
  load.counts = {44, 36, 20, 0};
  // 0.44 x 20 = 8.8, 0.36 x 20 = 7.2, 0.2 x 20 = 4: the largest remainder goes up
  EXPECT_THAT(load.copies(4, 2, 10), ElementsAre(9, 7, 4, 0));
  load.counts = {2, 1, 1, 0};
  // one that all tokens go to
  EXPECT_THAT(load.copies(4, 2, 3), ElementsAre(3, 2, 1, 0));
}

TEST(ExpertLoad, OfFewTokensIsRoundedSoThatItsMeanOverDrawsIsTheShare) {
  ExpertLoad load;
  load.counts = {50, 0, 30, 20};
  // 3 copies: 1.5, 0, 0.9 and 0.6 of them
  std::vector<double> sums(4, 0);
  constexpr int draws = 1000;
  for (int i = 0; i < draws; ++i) {
    const auto copies = load.drawn_copies(4, 1, 3, (i + 0.5) / draws);
    EXPECT_EQ(std::accumulate(copies.begin(), copies.end(), 0u), 3u);
    EXPECT_EQ(copies[1], 0u);
    for (std::size_t expert = 0; expert < 4; ++expert)
      sums[expert] += static_cast<double>(copies[expert]);
  }
  constexpr double one_draw = 1.0 / draws;
  EXPECT_NEAR(sums[0] / draws, 1.5, one_draw);
  EXPECT_NEAR(sums[2] / draws, 0.9, one_draw);
  EXPECT_NEAR(sums[3] / draws, 0.6, one_draw);
}

TEST(ExpertLoad, OfWholeNumbersOfCopiesDrawsNothing) {
  for (const double draw : {1e-5, 0.3, 0.99999}) {
    EXPECT_THAT(ExpertLoad().drawn_copies(256, 8, 4096, draw), Each(128));
    ExpertLoad load;
    load.counts = {2, 1, 1, 0};
    EXPECT_THAT(load.drawn_copies(4, 2, 4, draw), ElementsAre(4, 2, 2, 0));
  }
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
