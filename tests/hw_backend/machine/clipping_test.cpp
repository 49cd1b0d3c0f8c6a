#include "scenarios/description/errors.hpp"
#include "strategies/run/numerics.hpp"
#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <cmath>
#include <optional>

/// Gradients whose norm is too long, for real.
namespace spillway::hw_backend::clipping_test {
namespace {

using testing::HasSubstr;

/// Below the norm of every step of the small training, and above that of all of them.
const std::string always = "training.gradient_clipping=1e-3";
const std::string never = "training.gradient_clipping=1e5";

constexpr Size one_block{.blocks = 1, .feed_forward = 4096};

/// Empty: it cannot clip; `why` has its complaint.
std::optional<description::Scenario> clipping(const std::string& system, Overrides overrides,
                                              std::string& why) {
  try {
    return small_training(system, overrides, one_block);
  } catch (const description::ScenarioError& refused) {
    why = refused.what();
    return std::nullopt;
  }
}

void expect_systems_to_clip_alike(const Overrides& more, std::size_t at_least) {
  std::size_t clipped = 0;
  for (const std::string& system : systems_under_test()) {
    SCOPED_TRACE(system);
    std::string why;
    const auto scenario = clipping(system, joined({always}, more), why);
    if (!scenario) {
      EXPECT_THAT(why, HasSubstr("gradient_clipping"));
      continue;
    }
    ++clipped;
    expect_its_references_end(*scenario, "clipped" + testing::PrintToString(more));
  }
  EXPECT_GE(clipped, at_least);
}

TEST(Clipping, EverySystemThatCanClipsLikeTheReference) {
  LONG_TEST();
  expect_systems_to_clip_alike({}, 5);
}

TEST(Clipping, RanksAgreeOnTheNormHoweverTheyShareGradients) {
  LONG_TEST();
  expect_systems_to_clip_alike({"parallel.data=2"}, 5);
}

/// How far one step of gradient descent brings all masters, with a step width of 1.
double length_of_a_step(const Overrides& way) {
  const auto masters = [&](const char* learning_rate) {
    const Overrides one_step = {"training.optimizer=sgd",
                                "training.learning_rate=1",
                                "training.gradient_clipping=0.1",
                                "run.warmup_steps=0",
                                "run.steps=1",
                                learning_rate};
    return train_for_real(small_training("resident", joined(one_step, way), {.feed_forward = 1024}))
        .trained.masters;
  };
  const auto before = masters("training.learning_rate=0"), after = masters("run.steps=1");
  double squares = 0;
  for (std::size_t weight = 0; weight < before.size(); ++weight)
    for (std::size_t i = 0; i < before[weight].size(); ++i) {
      const double change = double{after[weight][i]} - double{before[weight][i]};
      squares += change * change;
    }
  return std::sqrt(squares);
}

// A gradient of norm g, each part of it counted once, becomes one of 0.1; one that counts k times
// in the square of its norm becomes shorter.
TEST(Clipping, CountsEachGradientOnce) {
  const Overrides ways[] = {
      {},
      {"parallel.data=2", "parallel.zero_stage=0"},
      {"parallel.data=2", "parallel.zero_stage=1"},
      {"parallel.data=2", "parallel.zero_stage=2", "training.gradient_accumulation=2"},
      {"parallel.data=2", "parallel.zero_stage=3"},
      {"parallel.context=2", "parallel.zero_stage=0"},
      {"parallel.tensor=2", "parallel.zero_stage=0"},
      {"parallel.pipeline=2", "parallel.zero_stage=0", "training.gradient_accumulation=2",
       "model.tie_word_embeddings=true"},
      {"training.precision=fp16_mixed", "strategy.overflow_check=fused"},
  };
  for (const Overrides& way : ways) {
    SCOPED_TRACE(testing::PrintToString(way));
    EXPECT_NEAR(length_of_a_step(way), 0.1, 1e-4);
  }
}

TEST(Clipping, ANormThatIsShortEnoughChangesNothing) {
  for (const char* system : {"zero_offload", "superoffload"}) {
    SCOPED_TRACE(system);
    const auto trained = [&](const Overrides& overrides) {
      return train_for_real(small_training(system, overrides, one_block)).trained;
    };
    const Trained plain = trained({});
    EXPECT_EQ(different(trained({never}), plain), 0u);
    EXPECT_GT(different(trained({always}), plain), 0u);
  }
}

// Each step is updated before its norm is known; where it is too long, old values are put back, and
// the CPU's Adam runs once more, with gradients that are clipped.
TEST(Clipping, AStepThatWasUpdatedTooEarlyIsTakenBackAndMadeAgain) {
  LONG_TEST();
  const Overrides ways[] = {
      {},
      {"training.precision=fp16_mixed"},
      {"strategy.weights.home=host"},
      {"strategy.optimizer.cpu_share=0.5", "strategy.optimizer.subgroup=5e5 params"},
      {"training.gradient_accumulation=2", "strategy.gradients.accumulation=fp32"},
      {"parallel.data=2"},
      {"strategy.weights.h2d=pinned"},
  };
  for (const Overrides& way : ways) {
    SCOPED_TRACE(testing::PrintToString(way));
    const description::Scenario forced =
        small_training("superoffload", joined(way, {always}), one_block);
    const RealRun again = train_for_real(forced);
    const RealRun once =
        train_for_real(small_training("superoffload", joined(way, {never}), one_block));
    EXPECT_GT(again.result.operations, once.result.operations);
    const RealRun& reference = reference_run(forced, "again" + testing::PrintToString(way));
    EXPECT_EQ(again.trained.losses, reference.trained.losses);
    EXPECT_EQ(different(again.trained, reference.trained), 0u);
    EXPECT_GT(different(again.trained, once.trained), 0u);
  }
}

}  // namespace
}  // namespace spillway::hw_backend::clipping_test
