#include "strategies/layout/subgroups.hpp"
#include "tests/models/configs.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using description::Grouping;
using models::WeightKind;
using ::testing::ElementsAre;

/// Weights of the given sizes; negative: one that does not decay.
models::Model weights(const std::vector<int>& sizes) {
  models::Model model;
  for (const int size : sizes) {
    models::WeightTensor weight;
    const auto elements = static_cast<std::uint64_t>(std::abs(size));
    weight.shape = size < 0 ? std::vector{elements} : std::vector<std::uint64_t>{1, elements};
    weight.parameters = description::Params(elements);
    model.weights.push_back(weight);
  }
  return model;
}

std::vector<Subgroup> group(const models::Model& model, std::uint64_t target,
                            Grouping grouping = Grouping::parameter_groups, bool fused = false,
                            std::uint64_t ways = 1) {
  return make_subgroups(model, target, grouping, fused, 1024, [&](std::uint32_t weight) {
    return description::divide_up(model.weights[weight].parameters.value(), ways);
  });
}

std::vector<std::vector<std::uint32_t>> members(const std::vector<Subgroup>& groups) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const Subgroup& one : groups) {
    auto& into = all.emplace_back();
    for (const Subgroup::Member& member : one.members) into.push_back(member.weight);
  }
  return all;
}

using Ids = std::vector<std::uint32_t>;

TEST(Subgroups, FillUntilTheSumReachesTheTarget) {
  // 40 + 60 = 100 closes; 99 does not, 99 + 1 does; 30 is the last
  EXPECT_THAT(members(group(weights({40, 60, 99, 1, 30}), 100)),
              ElementsAre(Ids{0, 1}, Ids{2, 3}, Ids{4}));
}

TEST(Subgroups, TensorAboveTheTargetIsNeverSplitAndClosesItsGroup) {
  EXPECT_THAT(members(group(weights({500, 10, 500, 10}), 100)),
              ElementsAre(Ids{0}, Ids{1, 2}, Ids{3}));
}

TEST(Subgroups, TargetThatHoldsEverythingMakesOneOfEachParameterGroup) {
  const models::Model model = weights({10, -1, 20, -2});
  EXPECT_THAT(members(group(model, 1000)), ElementsAre(Ids{0, 2}, Ids{1, 3}));
  EXPECT_THAT(members(group(model, 30)), ElementsAre(Ids{0, 2}, Ids{1, 3}));  // exactly full
  EXPECT_THAT(members(group(model, 1000, Grouping::model_order)), ElementsAre(Ids{0, 1, 2, 3}));
}

TEST(Subgroups, ModelOrderMixesWhatDecaysWithWhatDoesNot) {
  const models::Model model = weights({10, -1, 20, -2, 5});
  EXPECT_THAT(members(group(model, 11, Grouping::model_order)),
              ElementsAre(Ids{0, 1}, Ids{2}, Ids{3, 4}));
  EXPECT_THAT(members(group(model, 11)), ElementsAre(Ids{0, 2}, Ids{4}, Ids{1, 3}));
}

TEST(Subgroups, CountWhatOneRankHolds) {
  // of four ranks: 25 (exactly), 3 (rounded up from 2.25), 25
  const std::vector<Subgroup> groups = group(weights({100, 9, 100}), 28, {}, false, 4);
  EXPECT_THAT(members(groups), ElementsAre(Ids{0, 1}, Ids{2}));
  EXPECT_EQ(groups[0].elements, 28u);
}

TEST(Subgroups, MembersBeginAtMultiplesOf1024Elements) {
  const std::vector<Subgroup> groups = group(weights({1024, 1025, 1}), 5000);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members[0].offset, 0u);
  EXPECT_EQ(groups[0].members[1].offset, 1024u);
  EXPECT_EQ(groups[0].members[2].offset, 3 * 1024u);
  EXPECT_EQ(groups[0].span, 4 * 1024u);
  EXPECT_EQ(groups[0].elements, 2050u);
}

TEST(Subgroups, WeightsWithoutElementsAndEmptyModelsAreLeftOut) {
  EXPECT_TRUE(group(weights({}), 100).empty());
  EXPECT_THAT(members(group(weights({0, 5, 0}), 5)), ElementsAre(Ids{1}));
}

TEST(Subgroups, FusedTensorsStayTogether) {
  models::Model model = weights({10, 10, 10, 10, 10, 10, 10});
  const WeightKind kinds[] = {
      WeightKind::query,    WeightKind::key,    WeightKind::value,   WeightKind::attention_output,
      WeightKind::ffn_gate, WeightKind::ffn_up, WeightKind::ffn_down};
  for (std::size_t i = 0; i < 7; ++i) model.weights[i].kind = kinds[i];
  EXPECT_THAT(members(group(model, 10, Grouping::model_order, true)),
              ElementsAre(Ids{0, 1, 2}, Ids{3}, Ids{4, 5}, Ids{6}));
  EXPECT_EQ(group(model, 10, Grouping::model_order, false).size(), 7u);
}

TEST(Subgroups, HoldEveryWeightOfARealModelOnce) {
  const models::Model model = models::from_library("llama-3.1-8b");
  for (const Grouping grouping : {Grouping::parameter_groups, Grouping::model_order}) {
    std::vector<int> seen(model.weights.size());
    std::uint64_t sum = 0;
    const std::vector<Subgroup> groups = group(model, 100'000'000, grouping);
    for (const Subgroup& one : groups) {
      sum += one.elements;
      for (const Subgroup::Member& member : one.members) ++seen[member.weight];
    }
    EXPECT_EQ(sum, model.parameters.value());
    EXPECT_THAT(seen, ::testing::Each(1));
    EXPECT_THAT(groups[0].members, ::testing::SizeIs(1));  // the embedding, 525,336,576
  }
}

}  // namespace
}  // namespace spillway::strategies
