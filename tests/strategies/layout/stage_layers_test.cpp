#include "strategies/layout/stage_layers.hpp"
#include "tests/models/configs.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

/// The first layer of each stage, then the number of layers.
std::vector<std::uint32_t> bounds(const std::vector<StageLayers>& split) {
  std::vector<std::uint32_t> all;
  for (const StageLayers& stage : split) all.push_back(stage.first);
  all.push_back(split.back().last);
  return all;
}

const std::vector<bool> five_blocks{false, true, true, true, true, true, false};

TEST(StageLayers, OfEqualNumbersLeaveTheEndsWithTheirNeighbours) {
  // embedding, five blocks, head on two stages: blocks 1-2 and 3-5
  EXPECT_THAT(bounds(split_evenly(five_blocks, 2)), ElementsAre(0, 3, 7));
}

TEST(StageLayers, OfEqualWorkWeighTheHead) {
  // five blocks of 10 and a head of 25: 40 | 10 + 25 is the best of two
  EXPECT_THAT(bounds(split_by_work(five_blocks, {0, 10, 10, 10, 10, 10, 25}, 2)),
              ElementsAre(0, 5, 7));
  // without it: 30 | 20, the first stage has the longer half
  EXPECT_THAT(bounds(split_by_work(five_blocks, {0, 10, 10, 10, 10, 10, 0}, 2)),
              ElementsAre(0, 4, 7));
}

TEST(StageLayers, LeaveNoStageEmptyWhileBlocksAreThere) {
  // the head alone sets the limit of 100, which one stage keeps with all blocks but the last
  EXPECT_THAT(bounds(split_by_work(five_blocks, {0, 1, 1, 1, 1, 1, 100}, 5)),
              ElementsAre(0, 2, 3, 4, 5, 7));
  EXPECT_THAT(bounds(split_by_work({true, true}, {1, 1}, 3)), ElementsAre(0, 1, 2, 2));
}

}  // namespace
}  // namespace spillway::strategies
