#include "explore/trials/trials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/explore/simulator.hpp"

namespace spillway::explore {
namespace {

using nlohmann::json;
using testing::StartsWith;

constexpr double card = 24.0 * (1ull << 30);

json on_one_card() {
  return {{"model", "gpt2"},
          {"machine", "gaming_4090"},
          {"training", {{"micro_batch", 1}, {"sequence", 256}, {"precision", "bf16_mixed"}}},
          {"strategy", {{"system", "resident"}}},
          {"run", {{"steps", 1}}}};
}

/// One that fits, and one whose weights alone are too large.
std::vector<Trial> small_and_large() {
  std::vector<Trial> trials(2);
  trials[0].words = "gpt2";
  trials[1].words = "opt-175b";
  trials[1].overrides = {"model=opt-175b"};
  return trials;
}

std::vector<double> values_in(const text::Text& text) {
  std::vector<double> values;
  for (const text::Text::Piece& piece : text.pieces())
    if (piece.is_number) values.push_back(piece.number.value);
  return values;
}

/// A trial of two cards in stages, whose head takes the more of a step the slower their memory is.
Trial in_stages(const char* rate) {
  Trial trial;
  trial.words = rate;
  trial.overrides = {"machine=h100_8gpu",
                     "machine.gpu.count=2",
                     "machine.gpu.elementwise=separate",
                     std::string("machine.gpu.memory_rate=") + rate,
                     "parallel.pipeline=2",
                     "training.micro_batch=8",
                     "training.loss=plain",
                     "model.vocab_size=80000"};
  return trial;
}

TEST(Trials, HaveTheBoundsOfTheStagesThatTheirOwnRatesCut) {
  const std::vector<const char*> rates = {"100 GB/s", "3 TB/s", "100 GB/s", "200 TB/s"};
  std::vector<Trial> together;
  for (const char* rate : rates) together.push_back(in_stages(rate));
  ASSERT_FALSE(try_bounded(sim(), on_one_card(), together, {}));
  for (std::size_t i = 0; i < rates.size(); ++i) {
    std::vector<Trial> alone = {in_stages(rates[i])};
    ASSERT_FALSE(try_bounded(sim(), on_one_card(), alone, {}));
    ASSERT_GT(alone.front().most_tokens_per_s, 0) << words(alone.front().reason);
    EXPECT_EQ(together[i].most_tokens_per_s, alone.front().most_tokens_per_s) << rates[i];
  }
}

TEST(Trials, ThatBoundsRuleOutHaveNumbersInTheirReason) {
  std::vector<Trial> trials = small_and_large();
  TrialCounts counts;
  ASSERT_FALSE(try_fastest(sim(), on_one_card(), trials, 1, counts));
  EXPECT_TRUE(trials[0].fits());
  EXPECT_TRUE(trials[0].reason.empty());
  ASSERT_TRUE(trials[1].ruled_out);
  EXPECT_THAT(words(trials[1].reason), StartsWith("needs at least "));
  const auto values = values_in(trials[1].reason);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_GT(values[0], 16 * 174e9);  // weights, gradients and states
  EXPECT_EQ(values[1], card);
}

TEST(Trials, ThatDoNotFitHaveTheirNeedInTheirReason) {
  std::vector<Trial> trials = small_and_large();
  ASSERT_FALSE(try_all(sim(), on_one_card(), trials));
  find_needs(sim(), on_one_card(), trials);
  ASSERT_TRUE(trials[1].result && trials[1].result->needed);
  const auto values = values_in(trials[1].reason);
  ASSERT_GE(values.size(), 2u);
  EXPECT_EQ(values[0], static_cast<double>(trials[1].result->needed->gpu));
  EXPECT_EQ(values[1], card);
}

}  // namespace
}  // namespace spillway::explore
