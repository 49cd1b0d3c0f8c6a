#include "strategies/parts/weights/weight_chunks.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

/// fp16 whose first steps overflow, because the loss scale begins too high.
namespace spillway::hw_backend {
namespace {

/// fp16_mixed with a loss scale of 2^power, so many steps in all.
Overrides fp16(int power, int steps, int ranks = 1) {
  return {"training.precision=fp16_mixed", fmt::format("training.initial_scale_power={}", power),
          fmt::format("run.steps={}", steps - 1), fmt::format("parallel.data={}", ranks)};
}

description::Scenario small(const std::string& system, const Overrides& overrides, int ranks = 1) {
  return small_training(system, overrides,
                        {.blocks = 1, .feed_forward = 2048 * static_cast<std::uint64_t>(ranks)});
}

Overrides with(Overrides some, const std::string& more) {
  some.push_back(more);
  return some;
}

constexpr int hopeless = 60;  // any gradient above 2^-44 times 2^60 is beyond fp16's 2^16
/// The first gradients are beyond fp16 from 2^19 on. Steps 0 and 1 overflow at 2^20, step 2 at
/// 2^19, and 2^18 fits: the second overflow halves the scale, and each one after it.
constexpr int too_high = 20;

TEST(Overflow, AStepThatOverflowsChangesNothing) {
  const auto masters = [](int steps) {
    return train_for_real(small("zero_offload", fp16(hopeless, steps))).trained;
  };
  EXPECT_EQ(different(masters(2), masters(5)), 0u);
}

void expect_skipped_alike(int ranks) {
  const char* const checks[] = {"chained", "fused"};
  for (const char* check : sampled(checks))
    for (const std::string& system : systems_under_test()) {
      SCOPED_TRACE(system + " " + check);
      // gradients that are applied as they come leave no step to skip where nothing is taken back,
      // and planned steps are all alike: refused
      const description::Strategy parts = strategies::find_system(system)->defaults();
      // so are gradients in their weights' place, updates that nothing waits for, and of columns
      const bool takes_back = parts.optimizer.roll_back && check == std::string("fused");
      if ((updates_in_backward(parts.gradients.policy) && !takes_back) ||
          parts.activations.policy == description::ActivationPolicy::plan ||
          parts.optimizer.staleness == description::any_staleness ||
          strategies::chunk_knobs(parts).used || selects_columns(system))
        continue;
      const description::Scenario scenario = small(
          system, with(fp16(too_high, 7, ranks), std::string("strategy.overflow_check=") + check),
          ranks);
      const RealRun& reference = reference_run(scenario, "overflow");
      const RealRun run = train_for_real(scenario);
      EXPECT_EQ(run.trained.losses, reference.trained.losses);
      EXPECT_EQ(different(run.trained, reference.trained), 0u);
    }
}

#ifndef SPILLWAY_SANITIZED
TEST(Overflow, EverySystemSkipsTheStepsThatTheReferenceSkips) {
  LONG_TEST();
  expect_skipped_alike(1);
}
#endif

TEST(Overflow, RanksSkipTogetherWhatOneOfThemCannotTake) {
  LONG_TEST();
  expect_skipped_alike(2);
}

TEST(Overflow, TheScaleFallsUntilStepsAreTakenAndThoseBeforeAreMissing) {
  const auto masters = [](const Overrides& overrides) {
    return train_for_real(small("zero_offload", overrides)).trained;
  };
  const Trained some_skipped = masters(fp16(too_high, 7));
  EXPECT_GT(different(some_skipped, masters(fp16(hopeless, 2))), 0u);  // some were taken
  EXPECT_GT(different(some_skipped, masters(fp16(8, 7))), 0u);         // some were not
}

TEST(Overflow, WithoutACheckNothingIsSkipped) {
  const auto masters = [](const char* check) {
    return train_for_real(small_training("zero_offload",
                                         with(fp16(too_high, 7),
                                              std::string("strategy.overflow_check=") + check)))
        .trained;
  };
  EXPECT_GT(different(masters("none"), masters("fused")), 0u);
}

}  // namespace
}  // namespace spillway::hw_backend
