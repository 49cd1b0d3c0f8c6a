#include "strategies/planner/saved/offload_planner.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<OffloadTensor> dense(const std::vector<std::uint64_t>& bytes) {
  std::vector<OffloadTensor> tensors;
  for (const std::uint64_t one : bytes) tensors.push_back({one, one});
  return tensors;
}

TEST(ChooseOffload, PicksInOrderOfCreationUntilEnoughIsGivenUp) {
  const std::vector<OffloadTensor> tensors = dense({10, 30, 5, 40});
  EXPECT_THAT(choose_offload(tensors, 0, 1, 1e9).picked, IsEmpty());
  EXPECT_THAT(choose_offload(tensors, 10, 1, 1e9).picked, ElementsAre(0));     // exactly
  EXPECT_THAT(choose_offload(tensors, 11, 1, 1e9).picked, ElementsAre(0, 1));  // one over
  EXPECT_THAT(choose_offload(tensors, 45, 1, 1e9).picked, ElementsAre(0, 1, 2));
  EXPECT_EQ(choose_offload(tensors, 45, 1, 1e9).bytes, 45u);
}

TEST(ChooseOffload, GivesUpAllWhereThatIsNotEnough) {
  const OffloadChoice choice = choose_offload(dense({10, 30}), 41, 1, 1e9);
  EXPECT_THAT(choice.picked, ElementsAre(0, 1));
  EXPECT_EQ(choice.bytes, 40u);
  EXPECT_THAT(choose_offload({}, 1, 1, 1).picked, IsEmpty());
}

TEST(ChooseOffload, LooksAtRatiosOnlyWhereForwardIsTooShort) {
  // 40 B at 10 B/s take 4 s; the third tensor compresses to a tenth
  const std::vector<OffloadTensor> tensors{{40, 40}, {20, 20}, {40, 4}};
  EXPECT_THAT(choose_offload(tensors, 40, 4, 10).picked, ElementsAre(0));  // exactly hidden
  const OffloadChoice choice = choose_offload(tensors, 40, 3.9, 10);
  EXPECT_THAT(choice.picked, ElementsAre(2));
  EXPECT_TRUE(choice.by_ratio);
  EXPECT_EQ(choice.bytes, 40u);
  EXPECT_EQ(choice.moved_bytes, 4u);
}

TEST(ChooseOffload, KeepsTheFirstChoiceWhereNothingIsSparse) {
  // by ratio all are alike: the same tensors again, no better
  const OffloadChoice choice = choose_offload(dense({40, 20, 40}), 50, 1, 1);
  EXPECT_THAT(choice.picked, ElementsAre(0, 1));
  EXPECT_FALSE(choice.by_ratio);
}

}  // namespace
}  // namespace spillway::strategies
