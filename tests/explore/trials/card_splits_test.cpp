#include "explore/trials/card_splits.hpp"

#include <gtest/gtest.h>

namespace spillway::explore::card_splits_test {
namespace {

std::vector<std::string> names(std::uint64_t nodes, std::uint64_t own) {
  std::vector<std::string> all;
  for (const CardSplit& split : splits_of_layers(nodes, own)) all.push_back(split.name());
  return all;
}

TEST(CardSplits, AreNoneOfOneCard) { EXPECT_TRUE(splits_of_layers(1, 1).empty()); }

TEST(CardSplits, AreAllThatHaveWorkForEveryCard) {
  EXPECT_EQ(names(1, 4),
            (std::vector<std::string>{", tensor 2", ", tensor 4",  // the rest is by data
                                      ", pipeline 2", ", tensor 2, pipeline 2", ", pipeline 4"}));
  for (const auto& [nodes, own] : {std::pair{1, 6}, {3, 8}, {2, 1}})
    for (const CardSplit& split : splits_of_layers(nodes, own))
      EXPECT_EQ(split.data * split.tensor * split.pipeline, nodes * own) << split.name();
}

TEST(CardSplits, AlsoHaveAWholeNodeAsAStage) {
  const std::vector<CardSplit> splits = splits_of_layers(3, 2);
  EXPECT_EQ(splits.back().name(), ", tensor 2, pipeline 3");
  EXPECT_EQ(
      splits.back().overrides(),
      (std::vector<std::string>{"parallel.tensor=2", "parallel.pipeline=3", "parallel.data=1"}));
}

}  // namespace
}  // namespace spillway::explore::card_splits_test
