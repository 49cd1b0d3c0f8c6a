#include "explore/trials/expert_ways.hpp"

#include "explore/outcome/outcomes.hpp"
#include "explore/outcome/runs_with.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spillway::explore::expert_ways_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> adapters = {"training.method=lora"};

description::Scenario job_of(const std::string& model, const std::string& machine,
                             const std::vector<std::string>& overrides) {
  const json job = {{"model", model},
                    {"machine", machine},
                    {"training", {{"precision", "bf16_mixed"}}},
                    {"strategy", {{"system", "resident"}}}};
  return scenarios::read_scenario(job, overrides, known_systems()).scenario;
}

std::vector<std::string> names(const std::vector<Way>& ways) {
  std::vector<std::string> all;
  for (const Way& way : ways) all.push_back(way.name);
  return all;
}

TEST(ExpertWays, AreNoneOfAModelWithoutExperts) {
  EXPECT_THAT(expert_ways(job_of("qwen2.5-7b", "gaming_4090", adapters)), IsEmpty());
}

TEST(ExpertWays, HaveTheCpuMultiplyBesideAdaptersWhereTheMachineHasARateForIt) {
  const description::Scenario on_amx = job_of("qwen3-30b-a3b", "amx_server_2x4090", adapters);
  EXPECT_THAT(names(expert_ways(on_amx, {"resident"})),
              ElementsAre("resident with experts on the CPU",
                          "resident with recomputation and experts on the CPU"));
  EXPECT_THAT(expert_ways(job_of("qwen3-30b-a3b", "amx_server_2x4090", {}), {"resident"}),
              IsEmpty());
  EXPECT_THAT(expert_ways(job_of("qwen3-30b-a3b", "lohan_4090", adapters), {"resident"}),
              IsEmpty());
}

TEST(ExpertWays, FetchThemFromHostMemoryAndFromDrivesWithACacheAndWithout) {
  EXPECT_THAT(names(expert_ways(job_of("qwen3-30b-a3b", "gaming_4090", {}), {"zero_infinity"})),
              ElementsAre("zero_infinity with experts in host memory",
                          "zero_infinity with experts in host memory and a cache of 12 GiB",
                          "zero_infinity with experts on drives",
                          "zero_infinity with experts on drives and a cache of 12 GiB"));
  EXPECT_THAT(expert_ways(job_of("qwen3-30b-a3b", "gaming_4090", {}), {"lohan"}), IsEmpty());
}

// Whoever tries them reads them like any other way.
TEST(ExpertWays, AreScenariosThatRun) {
  const description::Scenario job = job_of("qwen3-30b-a3b", "amx_server_2x4090", adapters);
  const json whole = job;
  for (const Way& way : expert_ways(job)) {
    const auto read = scenarios::read_scenario(whole, way.overrides, known_systems(),
                                               scenarios::Refuse::what_cannot_run);
    EXPECT_TRUE(read.scenario.strategy.weights.experts) << way.name;
    EXPECT_EQ(runs_with(read.scenario).runnable, way.splits_layers) << way.name;
  }
}

TEST(CardSplits, ShareExpertsAmongDataParallelRanksOfANode) {
  const auto of = [](std::uint64_t nodes, std::uint64_t own, std::uint64_t experts) {
    std::vector<CardSplit> splits = splits_of_layers(nodes, own);
    splits.insert(splits.begin(), {.data = nodes * own});
    std::vector<std::string> all;
    for (const CardSplit& split : splits_of_experts(splits, own, experts))
      all.push_back(split.name());
    return all;
  };
  EXPECT_THAT(of(1, 4, 128),
              ElementsAre(", expert 4", ", tensor 2, expert 2", ", pipeline 2, expert 2"));
  EXPECT_THAT(of(2, 2, 128), ElementsAre(", expert 2", ", pipeline 2, expert 2"));
  EXPECT_THAT(of(1, 6, 8),
              ElementsAre(", expert 2", ", tensor 3, expert 2", ", pipeline 3, expert 2"));
  EXPECT_THAT(of(1, 4, 0), IsEmpty());
  EXPECT_THAT(of(1, 1, 8), IsEmpty());
}

}  // namespace
}  // namespace spillway::explore::expert_ways_test
