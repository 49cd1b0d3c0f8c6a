#include "answers/fit/candidates.hpp"
#include "answers/fit/fit.hpp"
#include "reports/result/way.hpp"
#include "tests/answers/fit/fit_questions.hpp"
#include "tests/long_test.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <set>

/// Models of routed experts: what `fit` tries besides what it tries of others.
namespace spillway::answers::fit_experts_test {
namespace {

using nlohmann::json;

/// Of a job at the usual context: what fit takes where nobody says anything of the trainer.
const json plain_training = {
    {"precision", "bf16_mixed"}, {"sequence", 4096}, {"fused_kernels", false}, {"loss", "plain"}};

// The experts of 671 billion parameters are 1.2 TiB in 16 bits, all else 17 GiB a card.
TEST(FitOfExperts, HasTheCpuMultiplyByExpertsThatNoCardHasRoomFor) {
  LONG_TEST();
  FitQuestion question = about("deepseek-v3", {"4090 48GBx2", "1536G", ""});
  question.overrides = {"training.method=lora"};
  question.runnable = true;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.runnable->runs_with->program, "KTransformers with LLaMA-Factory");
  EXPECT_EQ(answer.runnable->scenario.at("strategy").at("weights").at("experts"), "cpu");
  EXPECT_THAT(result::way_of(*answer.runnable), testing::HasSubstr("experts on the CPU"));
  EXPECT_GT(answer.runnable->host.total, 1.1e12);
}

// A machine that does not say how fast its CPU multiplies is told how to.
TEST(FitOfExperts, SaysWhatKeepsExpertsFromTheCpu) {
  FitQuestion question = about("qwen3-30b-a3b", {"4090", "128G", ""});
  question.overrides = {"training.method=lora"};
  question.systems = {"resident"};
  const auto says = [](const FitAnswer& answer) {
    const std::vector<std::string> notes = text::words_of(answer.notes);
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return note.find("has no host.compute.bf16") != std::string::npos;
    });
  };
  EXPECT_FALSE(says(fit(sim(), question)));
  question.machine["host"].erase("compute");
  EXPECT_TRUE(says(fit(sim(), question)));
}

TEST(FitOfExperts, SharesThemAmongCardsThatHaveRoomForThem) {
  FitQuestion question = about("qwen3-30b-a3b", {"H100x8", "1T", ""});
  question.overrides = {"training.method=lora"};
  question.systems = {"resident"};
  const json job = {{"model", question.model},
                    {"machine", question.machine},
                    {"training", plain_training},
                    {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  const auto sharers = [&](std::vector<std::string> overrides) {
    overrides.insert(overrides.end(), question.overrides.begin(), question.overrides.end());
    std::set<std::uint64_t> found;
    for (const Candidate& one : candidates_of(job, overrides, question.systems))
      found.insert(one.scenario.parallel.expert);
    return found;
  };
  EXPECT_THAT(sharers({}), testing::ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(sharers({"parallel.expert=8"}), testing::ElementsAre(8));
  EXPECT_THROW(sharers({"parallel.expert=16"}), description::ScenarioError);
}

}  // namespace
}  // namespace spillway::answers::fit_experts_test
