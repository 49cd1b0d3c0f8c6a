#include "explore/remedies/changes.hpp"
#include "tests/explore/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// What may make a scenario fit, beside what planning_test finds with it.
namespace spillway::explore::changes_test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Not;

std::vector<std::string> settings(const json& scenario) {
  std::vector<std::string> words;
  for (const Change& change : settings_of(*resolver(scenario)({})).all())
    words.push_back(change.words);
  return words;
}

json on_four_cards(const json& parallel) {
  return {{"model", "gpt2"},
          {"machine", "l40s_server"},
          {"strategy", {{"system", "resident"}}},
          {"training", {{"gradient_accumulation", 8}}},
          {"parallel", parallel}};
}

TEST(Settings, KeepLessOnTheGpuBeforeWholeBlocksRunAgain) {
  const char* const cheap = R"(training.recompute ["activation", "norm"])";
  json scenario = on_four_cards({{"data", 4}});
  EXPECT_THAT(settings(scenario), Contains(cheap));
  EXPECT_THAT(settings(scenario), Contains("strategy.activations.policy offload"));
  scenario["strategy"]["activations"]["policy"] = "checkpoint_gpu";
  EXPECT_THAT(settings(scenario), Not(Contains(cheap)));
  EXPECT_THAT(settings(scenario), Not(Contains("strategy.activations.policy offload")));
}

TEST(Settings, CutAPipelineOtherwise) {
  const char* const cut = "parallel.pipeline_cut layers";
  EXPECT_THAT(settings(on_four_cards({{"data", 1}, {"pipeline", 4}})), Contains(cut));
  EXPECT_THAT(settings(on_four_cards({{"data", 4}})), Not(Contains(cut)));
  EXPECT_THAT(settings(on_four_cards({{"data", 1}, {"pipeline", 4}, {"pipeline_cut", "layers"}})),
              Not(Contains(cut)));
}

TEST(Settings, BringExpertsToTheGpuAsOtherWeights) {
  json scenario = {{"model", "qwen3-30b-a3b"},
                   {"machine", "gaming_4090"},
                   {"strategy", {{"system", "resident"}}},
                   {"training", {{"method", "qlora"}}}};
  const char* const usual = "strategy.weights.experts as_others";
  const char* const apart = "strategy.weights.experts as_others and training.experts separate";
  EXPECT_THAT(settings(scenario), Not(Contains(usual)));
  scenario["strategy"]["weights"]["experts"] = "cpu";
  EXPECT_THAT(settings(scenario), Contains(usual));
  EXPECT_THAT(settings(scenario), Contains(apart));
}

}  // namespace
}  // namespace spillway::explore::changes_test
