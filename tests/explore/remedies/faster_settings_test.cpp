#include "explore/remedies/faster_settings.hpp"
#include "tests/explore/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::explore::faster_settings_test {
namespace {

using answer::FasterSettings;
using nlohmann::json;
using ::testing::IsEmpty;

result::Result now(const json& scenario) { return simulate(sim(), *resolver(scenario)({})); }

std::vector<FasterSettings> faster(const json& scenario) {
  return faster_settings(sim(), now(scenario), resolver(scenario));
}

json on_workstation(const std::string& system) {
  return {{"model", "gpt2-xl"},
          {"machine", "workstation_2gpu"},
          {"training",
           {{"micro_batch", 2},
            {"sequence", 1024},
            {"precision", "fp16_mixed"},
            {"loss", "fused"},
            {"fused_kernels", true}}},
          {"strategy", {{"system", system}}}};
}

/// Whether one of them sets the value.
bool any_sets(const std::vector<FasterSettings>& all, const std::string& setting) {
  return std::any_of(all.begin(), all.end(), [&](const FasterSettings& one) {
    return std::count(one.overrides.begin(), one.overrides.end(), setting) > 0;
  });
}

TEST(FasterSettings, MoveWhatLiesOnDrivesWhereMemoryIsIdle) {
  const std::vector<FasterSettings> all = faster(on_workstation("zero_infinity"));
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(any_sets(all, "strategy.optimizer.home=host"));
}

// Each as it says when it is simulated alone, a fiftieth shorter at least, the shortest first.
TEST(FasterSettings, TakeWhatTheySay) {
  const json scenario = on_workstation("zero_infinity");
  const double step_s = now(scenario).step_time_s;
  double before = 0;
  for (const FasterSettings& one : faster(scenario)) {
    const auto changed = resolver(scenario)(one.overrides);
    ASSERT_TRUE(changed) << one.words;
    const result::Result result = simulate(sim(), *changed);
    EXPECT_TRUE(result.feasible()) << one.words;
    EXPECT_NEAR(result.step_time_s, one.step_time_s, 1e-3 * one.step_time_s) << one.words;
    EXPECT_NEAR(result.tokens_per_s, one.tokens_per_s, 1e-3 * one.tokens_per_s) << one.words;
    EXPECT_LE(one.step_time_s, 0.98 * step_s) << one.words;
    EXPECT_GE(one.step_time_s, before) << one.words;
    before = one.step_time_s;
  }
}

// States of adapters: a step hardly waits for them, but each one writes them all.
TEST(FasterSettings, SpareDrivesWhatHostMemoryHasRoomFor) {
  json scenario = on_workstation("zero_infinity");
  scenario["training"]["method"] = "lora";
  scenario["strategy"]["weights"]["home"] = "host";
  const result::Result result = now(scenario);
  ASSERT_GT(result.io.ssd_write, 0u);
  const std::vector<FasterSettings> all = faster(scenario);
  const auto spares = std::find_if(all.begin(), all.end(), [](const FasterSettings& one) {
    return one.words.ends_with(" (nothing is written to drives any more)");
  });
  ASSERT_NE(spares, all.end());
  EXPECT_TRUE(any_sets({*spares}, "strategy.optimizer.home=host"));
  EXPECT_LE(spares->step_time_s, result.step_time_s);
  const result::Result then = simulate(sim(), *resolver(scenario)(spares->overrides));
  EXPECT_EQ(then.io.ssd_write, 0u);
}

// Of 64 GiB a run leaves 6.3 above what stays free: 2e9 weights of two bytes fill 4 of them.
TEST(FasterSettings, FillIdleHostMemoryWithWeights) {
  const json scenario = {{"model", "llama-3.1-8b"},
                         {"machine", "gaming_4090"},
                         {"training", {{"sequence", 4096}, {"micro_batch", 4}, {"loss", "fused"}}},
                         {"strategy", {{"system", "zero_infinity"}}}};
  EXPECT_TRUE(any_sets(faster(scenario), "strategy.weights.max_in_host=2e9 params"));
}

TEST(FasterSettings, TakeFewerPassesOfTheSameSamples) {
  json scenario = on_workstation("zero_offload");
  scenario["training"]["gradient_accumulation"] = 4;
  scenario["parallel"] = {{"zero_stage", 3}};
  scenario["strategy"]["weights"]["home"] = "host";
  scenario["strategy"]["optimizer"]["cpu_share"] = 1;
  const std::vector<FasterSettings> all = faster(scenario);
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(any_sets(all, "training.micro_batch=8")) << all.front().words;
  for (const FasterSettings& one : all)
    EXPECT_EQ(any_sets({one}, "training.micro_batch=8"),
              any_sets({one}, "training.gradient_accumulation=1"));
}

// 25 GB of weights, gradients and states: each of two GPUs has room for all of them.
TEST(FasterSettings, LowerTheZeroStageWhereGpusHaveRoomForTheWhole) {
  json scenario = on_workstation("resident");
  scenario["parallel"] = {{"data", 2}, {"zero_stage", 3}};
  const std::vector<FasterSettings> all = faster(scenario);
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all.front().words, testing::HasSubstr("parallel.zero_stage"));
}

// A sum that every rank has is sent twice as often as one that only the owner of its states has.
TEST(FasterSettings, SumGradientsToTheRankThatUpdatesThem) {
  const json scenario = {{"model", "gpt2-xl"},
                         {"machine", "l40s_server"},
                         {"strategy", {{"system", "resident"}}},
                         {"training", {{"sequence", 1024}, {"loss", "fused"}}},
                         {"parallel", {{"data", 4}, {"zero_stage", 1}}}};
  const std::vector<FasterSettings> all = faster(scenario);
  EXPECT_TRUE(any_sets(all, "strategy.gradients.collective=reduce_scatter"));
}

// Logits of 16 samples take 29 GB: a fused loss takes no time off a step, and makes room for what
// does.
TEST(FasterSettings, MakeRoomWithAFusedLoss) {
  json scenario = on_workstation("zero_offload");
  scenario["model"] = "llama-3.2-1b";
  scenario["machine"] = "gaming_4090";
  scenario["training"]["loss"] = "plain";
  scenario["training"]["micro_batch"] = 4;
  scenario["training"]["gradient_accumulation"] = 4;
  const std::vector<FasterSettings> all = faster(scenario);
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(any_sets({all.front()}, "training.loss=fused")) << all.front().words;
  EXPECT_TRUE(any_sets({all.front()}, "training.micro_batch=16")) << all.front().words;
}

// What one setting makes possible follows it: a share of the update goes to the GPU once the states
// have left the drives.
TEST(FasterSettings, FollowFromEachOther) {
  const std::vector<FasterSettings> all = faster(on_workstation("zero_infinity"));
  ASSERT_FALSE(all.empty());
  const std::vector<std::string>& best = all.front().overrides;
  EXPECT_TRUE(std::any_of(best.begin(), best.end(), [](const std::string& one) {
    return one.starts_with("strategy.optimizer.cpu_share=");
  })) << all.front().words;
}

TEST(FasterSettings, KeepTheProgram) {
  const json scenario = on_workstation("zero_infinity");
  for (const FasterSettings& one : faster(scenario))
    EXPECT_EQ(simulate(sim(), *resolver(scenario)(one.overrides)).runs_with->program, "DeepSpeed");
}

TEST(FasterSettings, AreNoneWhereAllIsOnTheGpuAlready) {
  EXPECT_THAT(faster(on_workstation("resident")), IsEmpty());
}

TEST(FasterSettings, AreNoneOfWhatDoesNotFit) {
  json scenario = on_workstation("resident");
  scenario["model"] = "llama-3.1-70b";
  EXPECT_THAT(faster(scenario), IsEmpty());
}

TEST(FasterSettings, EndWhenTheyAreTold) {
  const json scenario = on_workstation("zero_infinity");
  Backend ended = sim();
  ended.watch = [](std::size_t) { return false; };
  EXPECT_THAT(faster_settings(ended, now(scenario), resolver(scenario)), IsEmpty());
}

}  // namespace
}  // namespace spillway::explore::faster_settings_test
