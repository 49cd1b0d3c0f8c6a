#include "tests/hw_backend/training.hpp"

#include <gtest/gtest.h>

/// Trainings whose copies change type, or go by way of the page cache: with the same numbers.
namespace spillway::hw_backend::copies_training_test {
namespace {

struct Way {
  const char* name;
  const char* system;
  Overrides overrides;
  std::uint64_t ranks = 1;
};

void expect_the_reference(const Way& way) {
  SCOPED_TRACE(way.name);
  const description::Scenario scenario =
      small_training(way.system, way.overrides, {.feed_forward = 2048 * way.ranks});
  const RealRun run = train_for_real(scenario);
  ASSERT_TRUE(run.result.feasible());
  const RealRun& reference = reference_run(scenario, std::string("copies_") + way.name);
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

TEST(TrainingWithTypedCopies, EndsWhereTheReferenceDoes) {
  const Way ways[] = {
      {"gradients",
       "zero_offload",
       {"strategy.gradients.d2h=typed", "strategy.gradients.accumulation=fp16"}},
      {"weights", "zero_offload", {"strategy.weights.home=gpu", "strategy.weights.h2d=typed"}},
      {"both",
       "zero_offload",
       {"parallel.data=2", "parallel.zero_stage=3", "training.gradient_accumulation=2",
        "training.precision=fp16_mixed", "strategy.weights.home=gpu", "strategy.weights.h2d=typed",
        "strategy.gradients.d2h=typed", "strategy.gradients.accumulation=fp16"},
       2},
      {"on_both_sides",
       "zero_offload",
       {"strategy.weights.home=gpu", "strategy.weights.h2d=typed",
        "strategy.optimizer.cpu_share=0.5"}},
  };
  for (const Way& way : ways) expect_the_reference(way);
}

TEST(TrainingThroughThePageCache, EndsWhereTheReferenceDoes) {
  const Way ways[] = {
      {"states_and_weights", "zero_infinity", {"strategy.io_engine=buffered"}},
      {"activations", "lohan", {"strategy.io_engine=buffered"}},
      {"two_ranks", "mlp_offload", {"strategy.io_engine=buffered", "parallel.data=2"}, 2},
  };
  for (const Way& way : ways) expect_the_reference(way);
}

// Sums run in rank order whatever carries them: the bits are those of the other collective.
TEST(TrainingWithEitherCollective, EndsWhereTheReferenceDoes) {
  LONG_TEST();
  const Way ways[] = {
      {"scattered_once",
       "resident",
       {"parallel.data=2", "parallel.zero_stage=1", "training.gradient_accumulation=2",
        "strategy.gradients.collective=reduce_scatter"},
       2},
      {"scattered_in_place",
       "resident",
       {"parallel.data=2", "parallel.zero_stage=1", "training.precision=fp16_mixed",
        "strategy.overflow_check=fused", "strategy.gradients.collective=reduce_scatter"},
       2},
      {"reduced_whole",
       "zero_offload",
       {"strategy.weights.home=gpu", "parallel.data=2", "parallel.zero_stage=2",
        "training.gradient_accumulation=2", "strategy.gradients.collective=all_reduce"},
       2},
  };
  for (const Way& way : ways) expect_the_reference(way);
}

TEST(TrainingWithMainGradients, EndsWhereTheReferenceDoes) {
  const Way ways[] = {
      {"main",
       "resident",
       {"strategy.gradients.main_gradients=true", "strategy.gradients.accumulation=fp32"}},
      {"main_of_two",
       "resident",
       {"strategy.gradients.main_gradients=true", "strategy.gradients.accumulation=fp32",
        "parallel.data=2", "parallel.zero_stage=1", "training.gradient_accumulation=2"},
       2},
      {"main_by_layer",
       "resident",
       {"strategy.gradients.main_gradients=true", "strategy.gradients.accumulation=fp32",
        "strategy.gradients.sums=by_layer", "parallel.data=2", "training.gradient_accumulation=2"},
       2},
      {"main_by_kernels",
       "resident",
       {"strategy.gradients.main_gradients=true", "strategy.gradients.accumulation=fp32",
        "strategy.gradients.fused_accumulation=false", "parallel.data=2",
        "training.gradient_accumulation=2"},
       2},
      {"at_end",
       "resident",
       {"strategy.gradients.sums=at_end", "parallel.data=2", "parallel.zero_stage=0",
        "training.gradient_accumulation=2"},
       2},
  };
  for (const Way& way : ways) expect_the_reference(way);
}

}  // namespace
}  // namespace spillway::hw_backend::copies_training_test
