#include "tests/hw_backend/training.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/run/numerics.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <tuple>

/// Trainings by optimizers other than Adam, of which the CPU has Lion alone.
namespace spillway::hw_backend::optimizers_test {
namespace {

/// None where the CPU updates, or the GPU columns of what the CPU does.
std::optional<description::Scenario> by(const std::string& system, const std::string& optimizer) {
  try {
    return small_training(system, {"training.optimizer=" + optimizer});
  } catch (const description::ScenarioError& error) {
    const char* why = selects_columns(system) ? "optimizer.selected_share" : "training.optimizer";
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    return std::nullopt;
  }
}

class TrainingBy : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainingBy, EndsWhereTheReferenceDoes) {
  const std::string& optimizer = GetParam();
  const RealRun& adam = reference_run(small_training("resident", {}), "plain");
  std::size_t systems = 0;
  for (const std::string& system : systems_under_test()) {
    SCOPED_TRACE(system);
    const auto scenario = by(system, optimizer);
    if (!scenario) continue;
    ++systems;
    const RealRun run = train_for_real(*scenario);
    ASSERT_TRUE(run.result.feasible());
    std::optional<RealRun> repeated;  // with the delays of this run
    if (!run.delays.empty())
      repeated = train_for_real(strategies::reference_of(*scenario), {}, false, {}, run.delays);
    const RealRun& reference = repeated ? *repeated : reference_run(*scenario, "by_" + optimizer);
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
    EXPECT_GT(different(run.trained, adam.trained), 0u);
  }
  EXPECT_GT(systems, 3u);
}

const std::string optimizers[] = {"lion", "sgd_momentum", "sgd", "adam8bit", "muon", "adafactor"};
INSTANTIATE_TEST_SUITE_P(Optimizers, TrainingBy, ::testing::ValuesIn(sampled(optimizers)),
                         [](const auto& one) { return one.param; });

TEST(TrainingByOtherOptimizers, DuringBackwardEndsWhereTheReferenceDoes) {
  for (const char* system : {"resident", "ssdtrain"})
    for (const char* optimizer : {"adam", "lion"}) {
      SCOPED_TRACE(std::string(system) + " " + optimizer);
      const description::Scenario scenario = small_training(
          system, {std::string("training.optimizer=") + optimizer, "training.precision=bf16",
                   "strategy.overflow_check=none", "training.optimizer_in_backward=true"});
      const RealRun run = train_for_real(scenario);
      ASSERT_TRUE(run.result.feasible());
      const RealRun& reference = reference_run(scenario, std::string("in_backward_") + optimizer);
      EXPECT_EQ(run.trained.losses, reference.trained.losses);
      EXPECT_EQ(different(run.trained, reference.trained), 0u);
    }
}

// What runs again does so with the bits of the first time, masks too.
TEST(TrainingByOtherOptimizers, WhatIsRecomputedChangesNoBit) {
  for (const char* recompute : {"full", "selective", R"(["attention","activation","norm"])"})
    for (const char* attention : {"flash", "materialized"}) {
      SCOPED_TRACE(std::string(recompute) + " " + attention);
      const Overrides kept{std::string("training.attention=") + attention, "training.dropout=0.1"};
      Overrides again = kept;
      again.push_back(std::string("training.recompute=") + recompute);
      const RealRun run = train_for_real(small_training("resident", again));
      ASSERT_TRUE(run.result.feasible());
      const RealRun& reference =
          reference_run(small_training("resident", kept), std::string("kept_") + attention);
      EXPECT_EQ(run.trained.losses, reference.trained.losses);
      EXPECT_EQ(different(run.trained, reference.trained), 0u);
    }
}

// States in host memory come to the GPU for each update.
TEST(TrainingByOtherOptimizers, PagedStatesEndWhereTheReferenceDoes) {
  const char* const ways[] = {"true", "false"};
  for (const char* during : sampled(ways)) {
    SCOPED_TRACE(during);
    const Overrides kept{std::string("training.optimizer_in_backward=") + during,
                         "training.precision=bf16", "strategy.overflow_check=none"};
    Overrides paged = kept;
    paged.emplace_back("strategy.optimizer.home=host");
    const RealRun run = train_for_real(small_training("resident", paged));
    ASSERT_TRUE(run.result.feasible());
    const RealRun& reference =
        reference_run(small_training("resident", kept), std::string("unpaged_") + during);
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
    Overrides in_8_bits = kept;
    in_8_bits.emplace_back("training.optimizer=adam8bit");
    paged = kept;
    paged.emplace_back("training.optimizer=paged_adam8bit");
    EXPECT_EQ(different(train_for_real(small_training("resident", paged)).trained,
                        train_for_real(small_training("resident", in_8_bits)).trained),
              0u);
  }
}

// Shares of whole blocks: who updates a number changes no bit of it.
TEST(TrainingByOtherOptimizers, RanksThatShareStatesIn8BitsEndAlike) {
  const auto by = [](const char* stage) {
    return small_training("resident", {"training.optimizer=adam8bit", "parallel.data=2",
                                       std::string("parallel.zero_stage=") + stage});
  };
  const RealRun whole = train_for_real(by("0"));
  const char* const stages[] = {"3", "1", "2"};
  for (const char* stage : sampled(stages)) {
    SCOPED_TRACE(stage);
    EXPECT_EQ(different(train_for_real(by(stage)).trained, whole.trained), 0u);
  }
}

// A rank has whole matrices by turns: three ranks and two blocks leave some over, of each shape.
TEST(TrainingByOtherOptimizers, RanksThatShareMatricesEndAlike) {
  LONG_TEST();
  const auto by = [](const std::string& ranks, const std::string& precision,
                     const std::string& stage, const Overrides& more = {}) {
    return train_for_real(small_training(
        "resident", joined({"training.optimizer=muon", "parallel.data=" + ranks,
                            "machine.gpu.count=" + ranks, "training.precision=" + precision,
                            "strategy.overflow_check=none", "parallel.zero_stage=" + stage},
                           more)));
  };
  const auto expect_equal = [](const RealRun& run, const RealRun& whole) {
    ASSERT_TRUE(run.result.feasible());
    EXPECT_EQ(run.trained.losses, whole.trained.losses);
    EXPECT_EQ(different(run.trained, whole.trained), 0u);
  };
  const std::tuple<const char*, const char*, const char*, const char*> ways[] = {
      {"2", "bf16_mixed", "3", "false"}, {"2", "bf16_mixed", "1", "false"},
      {"2", "bf16_mixed", "2", "false"}, {"3", "bf16_mixed", "1", "false"},
      {"2", "bf16_mixed", "2", "true"},  {"2", "fp32", "3", "false"}};
  std::map<std::string, RealRun> wholes;
  for (const auto& [ranks, precision, stage, flatten] : sampled(ways)) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", ranks, precision, stage, flatten));
    const std::string whole = std::string(ranks) + precision;
    if (!wholes.count(whole)) wholes.emplace(whole, by(ranks, precision, "0"));
    expect_equal(
        by(ranks, precision, stage, {std::string("strategy.optimizer.flatten=") + flatten}),
        wholes.at(whole));
  }
}

// Of 32 tokens the last of five parts has four; the forward is that of all tokens at once.
TEST(TrainingInTiles, EndsWhereTheReferenceDoes) {
  const Overrides tiles{"training.mlp_tiles=5", "training.gradient_accumulation=2"};
  const RealRun whole =
      train_for_real(small_training("resident", {"training.gradient_accumulation=2"}));
  for (const char* system : {"zero_infinity", "lohan", "ssdtrain", "teraio"}) {
    SCOPED_TRACE(system);
    const description::Scenario scenario = small_training(system, tiles);
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    const RealRun& reference = reference_run(scenario, "tiles");
    EXPECT_EQ(run.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(run.trained, reference.trained), 0u);
    for (std::size_t step = 0; step < whole.trained.losses.size(); ++step)
      EXPECT_NEAR(run.trained.losses[step], whole.trained.losses[step], 1e-2);
  }
}

TEST(TrainingOfPackedDocuments, EndsWhereTheReferenceDoes) {
  const RealRun whole = train_for_real(small_training("resident", {}));
  for (const char* system : {"zero_infinity", "ssdtrain", "g10"}) {
    SCOPED_TRACE(system);
    const description::Scenario scenario = small_training(system, {"training.packed=8"});
    const RealRun run = train_for_real(scenario);
    ASSERT_TRUE(run.result.feasible());
    EXPECT_EQ(different(run.trained, reference_run(scenario, "packed").trained), 0u);
    EXPECT_GT(different(run.trained, whole.trained), 0u);
  }
}

}  // namespace
}  // namespace spillway::hw_backend::optimizers_test
