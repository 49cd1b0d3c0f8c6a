#include "answers/fit/box.hpp"
#include "answers/fit/fit.hpp"
#include "explore/runs_with.hpp"
#include "scenarios/part_catalogue.hpp"
#include "sim/plugin.hpp"

#include <gmock/gmock.h>

/// What `fit` would have people buy.
namespace spillway::answers::fit_change_test {
namespace {

const explore::Backend& sim() {
  static const explore::Backend backend{"sim", sim::open_sim_machine, sim::prepare_sim};
  return backend;
}

// 64 GiB have no room for gradients until the update; with 96 all systems but few wait for drives a
// sixteenth as often.
TEST(FitChange, BringsMoreSamplesAStepWhereTodaysMemoryHasNoRoomForThem) {
  FitQuestion question;
  question.model = "qwen2.5-7b";
  question.machine = box_of({"4090", "64G", "2T"}, scenarios::part_catalogue()).machine;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.change && answer.change->tokens_per_s);
  EXPECT_FALSE(answer.more_samples);
  EXPECT_THAT(answer.change->words,
              ::testing::ContainsRegex("^96 GiB of host memory.* 16 micro-batches.* before each "
                                       "update, [0-9]+ samples a step in place of [0-9]+$"));
  EXPECT_GT(*answer.change->tokens_per_s, 5 * answer.runnable->tokens_per_s);
  const auto changed =
      scenarios::read_scenario(answer.runnable->scenario, answer.change->set,
                               explore::known_systems(), scenarios::Refuse::what_cannot_run);
  EXPECT_EQ(changed.scenario.training.gradient_accumulation, 16u);
  EXPECT_NEAR(explore::simulate(sim(), changed.scenario).tokens_per_s, *answer.change->tokens_per_s,
              0.005 * *answer.change->tokens_per_s);
}

// Gemini's step of one sample moves all states; with sixteen the box trains many times as fast.
TEST(FitChange, SaysWhatMoreSamplesAStepBringOnTheBoxThatMakesItFit) {
  FitQuestion question;
  question.model = "qwen3-14b";
  question.machine = box_of({"3090", "64G", "2T"}, scenarios::part_catalogue()).machine;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(!answer.runnable && answer.change && answer.change->more_samples);
  EXPECT_GT(answer.change->more_samples->tokens_per_s, 5 * answer.change->tokens_per_s.value());
  EXPECT_EQ(answer.change->more_samples->accumulation, 16u);
  EXPECT_EQ(nlohmann::json(nlohmann::json(answer).get<FitAnswer>()), nlohmann::json(answer));
}

// Whole logits take the room of larger micro-batches.
TEST(FitChange, NamesAFusedLossWhereItCostsNothingAndBringsMore) {
  FitQuestion question;
  question.model = "qwen3-4b";
  question.machine = box_of({"4090", "64G", "2T"}, scenarios::part_catalogue()).machine;
  question.runnable = true;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.fused_loss && answer.fused_loss->tokens_per_s);
  EXPECT_GT(*answer.fused_loss->tokens_per_s, 1.1 * answer.runnable->tokens_per_s);
  const auto changed =
      scenarios::read_scenario(answer.runnable->scenario, answer.fused_loss->set,
                               explore::known_systems(), scenarios::Refuse::what_cannot_run);
  EXPECT_NEAR(explore::simulate(sim(), changed.scenario).tokens_per_s,
              *answer.fused_loss->tokens_per_s, 0.005 * *answer.fused_loss->tokens_per_s);
  question.overrides = {"training.loss=fused"};
  EXPECT_FALSE(fit(sim(), question).fused_loss);
}

}  // namespace
}  // namespace spillway::answers::fit_change_test
