#include "explore/trials/ways.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <functional>
#include <nlohmann/json.hpp>

namespace spillway::explore::ways_test {
namespace {

using description::ScenarioError;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<Way>& ways) {
  std::vector<std::string> names;
  for (const Way& way : ways) names.push_back(way.name);
  return names;
}

/// What the user's overrides leave of the ways of resident.
std::vector<std::string> ways_with(const std::vector<std::string>& overrides) {
  const json job = {{"model", "gpt2"}, {"machine", "gaming_4090"}};
  return names_of(ways_of({"resident"}, {}, job, overrides));
}

std::string refused(const std::function<void()>& what) {
  try {
    what();
  } catch (const ScenarioError& error) {
    return to_string(error.complaints().front());
  }
  return "";
}

TEST(Ways, AreThreeWhereTheTrainerChoosesWhatBackwardFinds) {
  EXPECT_THAT(
      names_of(ways_of({"resident", "zero_offload"}, {})),
      ElementsAre("resident", "resident with recomputation", "resident with activation offloading",
                  "zero_offload", "zero_offload with weights on the GPU (ZeRO-2)"));
}

TEST(Ways, AreThoseThatASystemsOwnSearchChoosesAmong) {
  const std::vector<Way> ways = ways_of({"greedysnake"}, {});
  // five shares on drives by three late ones, and its own of 1 and 0.2
  ASSERT_EQ(ways.size(), 5u * 3 + 1);
  EXPECT_EQ(ways.front().name, "greedysnake");
  EXPECT_EQ(ways.front().beside, "");
  EXPECT_THAT(names_of(ways), testing::Contains("greedysnake + optimizer.delayed_share 1 + "
                                                "optimizer.ssd_share 0.5"));
  for (std::size_t i = 1; i < ways.size(); ++i) EXPECT_EQ(ways[i].beside, "greedysnake");
  const json job = {{"model", "gpt2"}, {"machine", "gaming_4090"}};
  EXPECT_EQ(ways_of({"greedysnake"}, {}, job, {"strategy.optimizer.delayed_share=0.3"}).size(), 5u);
  EXPECT_EQ(ways_of({"greedysnake"}, {}, job,
                    {"strategy.optimizer.delayed_share=0", "strategy.optimizer.ssd_share=1"})
                .size(),
            1u);
}

TEST(Ways, ThatOverridesMakeTheSameAreOne) {
  const auto all =
      ElementsAre("resident", "resident with recomputation", "resident with activation offloading");
  EXPECT_THAT(ways_with({}), all);
  EXPECT_THAT(ways_with({"training.micro_batch=2"}), all);
  EXPECT_THAT(ways_with({"training.recompute=full"}),
              ElementsAre("resident", "resident with activation offloading"));
  EXPECT_THAT(ways_with({"strategy.activations.policy=keep"}), ElementsAre("resident"));
}

// All rows would be one system under the names of others.
TEST(Ways, AreNotMadeOneSystemByAnOverride) {
  EXPECT_THAT(refused([] { ways_with({"strategy.system=lohan"}); }),
              AllOf(HasSubstr("--set strategy.system"), HasSubstr("use --system lohan")));
  EXPECT_THAT(refused([] { ways_with({R"(strategy={"system": "lohan"})"}); }),
              HasSubstr("name systems by --system"));
  EXPECT_EQ(refused([] { ways_with({"strategy.optimizer.buffers=6"}); }), "");
}

TEST(Ways, NameTheSystemsThatTheCatalogueLacks) {
  EXPECT_THAT(refused([] {
                ways_of({"resident", "zero_ofload"}, {});
              }),
              AllOf(HasSubstr("--system: no \"zero_ofload\""),
                    HasSubstr("did you mean \"zero_offload\"?")));
  EXPECT_TRUE(unknown_systems({"mix_8b_workstation"}, true).empty());
  EXPECT_EQ(unknown_systems({"mix_8b_workstation"}, false).size(), 1u);
}

}  // namespace
}  // namespace spillway::explore::ways_test
