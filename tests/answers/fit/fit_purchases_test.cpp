#include "answers/fit/fit.hpp"

#include "strategies/bounds/mandatory.hpp"
#include "tests/answers/fit/fit_questions.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// What fit would have one buy, and what costs nothing and is offered before.
namespace spillway::answers {
namespace {

using nlohmann::json;

TEST(Fit, SaysOfEachTierWhatIsNeededAndBuysWhatMakesItFit) {
  const FitQuestion question = about("llama-3.1-8b", {"4090", "64G", ""});
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.runnable);
  ASSERT_FALSE(answer.needs.empty());
  const FitNeed& need = answer.needs.front();
  // zero_offload: 18 bytes a parameter and more
  EXPECT_GT(need.needed_bytes.at("host"), 18u * 8'030'000'000u);
  EXPECT_EQ(need.has_bytes.at("host"), 64ull << 30);
  ASSERT_TRUE(answer.change);
  EXPECT_NE(answer.change->words.find("990 PRO 2TB"), std::string::npos) << answer.change->words;
  EXPECT_GT(*answer.change->price_usd, *answer.price_usd);
}

// 65 of 74.5 GiB are logits and what a plain loss makes of them.
TEST(Fit, TakesALossWithoutWholeLogitsBeforeItSellsALargerCard) {
  FitQuestion question = about("qwen2.5-7b", {"3090", "64G", ""});
  question.overrides = {"training.method=qlora"};
  question.context = 32768;
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.fits);
  ASSERT_TRUE(answer.change);
  EXPECT_EQ(answer.change->set.front(), "training.loss=fused");
  EXPECT_EQ(answer.change->price_usd, answer.price_usd);
  question.overrides.insert(question.overrides.end(), answer.change->set.begin(),
                            answer.change->set.end());
  EXPECT_TRUE(fit(sim(), question).runnable);
}

// A 14B's states need host memory in any case, and its logits no larger card where the loss is
// fused.
TEST(Fit, BuysNoLargerCardForLogitsBesideWhatIsBoughtAnyway) {
  LONG_TEST();
  FitQuestion question = about("qwen2.5-14b", {"3060", "32G", "2T"});
  question.systems = {"colossal_gemini", "zero_infinity"};
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.runnable);
  ASSERT_TRUE(answer.change && answer.change->price_usd);
  EXPECT_THAT(answer.change->words, testing::StartsWith("training.loss fused"));
  EXPECT_THAT(answer.change->words, testing::HasSubstr(" of host memory"));
  EXPECT_EQ(answer.change->set.front(), "training.loss=fused");
  question.overrides = {"training.loss=fused", "training.fused_kernels=true"};
  const FitAnswer fused = fit(sim(), question);
  ASSERT_TRUE(fused.change);
  EXPECT_EQ(fused.change->price_usd, answer.change->price_usd);
}

// Neither is enough alone: a drive and 64 GiB cost hundreds, a board for 256 GiB ten thousand.
TEST(Fit, BuysADriveAndMemoryWhereTheyAreCheaperTogetherThanMemoryAlone) {
  LONG_TEST();
  FitQuestion question = about("llama-3.1-8b", {"4090", "32G", ""});
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.runnable);
  ASSERT_TRUE(answer.change && answer.price_usd && answer.change->price_usd);
  EXPECT_NE(answer.change->words.find("a 990 PRO 2TB, and "), std::string::npos)
      << answer.change->words;
  EXPECT_LT(*answer.change->price_usd, *answer.price_usd + 2000);
  // the way that it names, some of which need smaller gradients in so little memory
  question.overrides = answer.change->set;
  const FitAnswer then = fit(sim(), question);
  ASSERT_TRUE(then.runnable && answer.change->tokens_per_s);
  EXPECT_DOUBLE_EQ(then.runnable->tokens_per_s, *answer.change->tokens_per_s);
}

// A sample at a time has room after the purchase; more of them train several times as fast.
TEST(Fit, SaysOfWhatMakesItFitHowFastTheBestMicroBatchIsThere) {
  LONG_TEST();
  FitQuestion question = about("llama-3.1-8b", {"4090", "64G", "2T"});
  question.systems = {"zero_offload"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.change && !answer.fits);
  FitQuestion on_it = question;
  on_it.overrides = answer.change->set;
  const FitAnswer there = fit(sim(), on_it);
  ASSERT_TRUE(there.runnable);
  EXPECT_DOUBLE_EQ(answer.change->tokens_per_s.value(), there.runnable->tokens_per_s);
  const std::uint64_t batch = there.runnable->scenario.at("training").at("micro_batch");
  EXPECT_GT(batch, 1u);
  EXPECT_NE(answer.change->words.find(", micro-batch " + std::to_string(batch) + " with "),
            std::string::npos)
      << answer.change->words;
  const result::Result one = with_change(question, "zero_offload", answer.change->set);
  EXPECT_GT(*answer.change->tokens_per_s, 1.5 * one.tokens_per_s);
}

// A 70B with fp32 gradients needs a board that takes more memory than a desktop; memory alone is
// not offered.
TEST(Fit, BuysABoardWhereTheOwnOneTakesNoMore) {
  LONG_TEST();
  FitQuestion question = about("llama-3.1-70b", {"4090", "64G", "2T"});
  question.runnable = true;
  question.overrides = {"strategy.gradients.accumulation=fp32", "strategy.gradients.d2h=pinned",
                        "strategy.weights.max_in_host=0 params"};
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.fits);
  ASSERT_TRUE(answer.change);
  EXPECT_NE(answer.change->words.find("a workstation with"), std::string::npos)
      << answer.change->words;
  const std::string& words = answer.change->words;
  const std::string_view before = ", micro-batch ";
  std::vector<std::string> set = answer.change->set;
  set.push_back("training.micro_batch=" +
                std::to_string(std::stoi(words.substr(words.find(before) + before.size()))));
  const result::Result changed = with_change(question, words.substr(0, words.find(',')), set);
  EXPECT_TRUE(changed.feasible());
  EXPECT_DOUBLE_EQ(changed.tokens_per_s, answer.change->tokens_per_s.value());
  EXPECT_DOUBLE_EQ(changed.price_usd.value(), answer.change->price_usd.value());
}

// What stays in the host and what stays on the GPU has to fit into the one memory together.
TEST(Candidates, OfOneMemoryAreTooLargeWhereBothTogetherAre) {
  const json job = {{"model", "gpt2"},
                    {"machine", "dgx_spark"},
                    {"training", {{"sequence", 1024}}},
                    {"strategy", {{"system", "zero_offload"}}}};
  const auto scenario = scenarios::read_scenario(job, {}, explore::known_systems()).scenario;
  const auto mandatory = strategies::Mandatory::of(scenario);
  ASSERT_TRUE(mandatory);
  description::MachineFile machine = scenario.machine;
  const strategies::MandatoryBytes held = mandatory->bytes(machine);
  const auto half = static_cast<std::uint64_t>(held.host + held.gpu / 2);
  machine.host.reserve = machine.gpu.reserve = description::Bytes();
  machine.host.memory = machine.gpu.memory = description::Bytes(half);
  EXPECT_STREQ(mandatory->too_small(machine), "host");
  machine.gpu.one_memory = false;
  EXPECT_EQ(mandatory->too_small(machine), nullptr);
}

TEST(Fit, OffersNoMoreThanTheBoardTakes) {
  const FitAnswer answer =
      fit(sim(), about("llama-3.2-1b", {"4090", "192G", "2Tx4", "desktop with PCIe 5"}));
  ASSERT_TRUE(answer.runnable);
  EXPECT_FALSE(answer.change) << answer.change->words;  // places and memory are full
}

// The same machine with a board of the list, where a second card is what helps most, and without.
TEST(Fit, OffersNoCardWhereNobodySaysHowManyTheMachineTakes) {
  LONG_TEST();
  FitQuestion question = about("llama-3.2-1b", {"4090", "64G", "2T", "workstation"});
  const FitAnswer with_board = fit(sim(), question);
  ASSERT_TRUE(with_board.change && with_board.answer());
  ASSERT_THAT(with_board.change->words, testing::StartsWith("one more card"));
  question.machine = with_board.answer()->scenario.at("machine");
  ASSERT_EQ(question.machine.at("bought").erase("host"), 1u);
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.fits);
  if (answer.change) {
    EXPECT_NE(answer.change->words, "one more card");
  }
}

TEST(Fit, NamesTheSystemsThatItDidNotTryThoughTheyMayBeFaster) {
  LONG_TEST();
  // g10 is the faster one here, and takes seconds
  const FitAnswer answer = fit(sim(), about("llama-3.2-3b", {"3090", "64G", "2T"}));
  ASSERT_TRUE(answer.best);
  EXPECT_THAT(answer.untried, testing::Contains("g10"));
  EXPECT_EQ(json(answer).get<FitAnswer>().untried, answer.untried);
}

}  // namespace
}  // namespace spillway::answers
