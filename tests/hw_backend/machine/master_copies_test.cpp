#include "tests/hw_backend/training.hpp"

#include <gtest/gtest.h>

/// Masters of 16 bits beside weights of 16 bits change memory and bytes, and no number.
namespace spillway::hw_backend::master_copies_test {
namespace {

struct Way {
  const char* system;
  Overrides more{};
  std::uint64_t ranks = 1;
};

void expect_the_reference(const Way& way) {
  SCOPED_TRACE(way.system);
  Overrides overrides{"training.optimizer_state=bf16", "strategy.optimizer.master=copy"};
  overrides.insert(overrides.end(), way.more.begin(), way.more.end());
  const description::Scenario scenario =
      small_training(way.system, overrides, {.feed_forward = 2048 * way.ranks});
  const RealRun run = train_for_real(scenario);
  ASSERT_TRUE(run.result.feasible());
  const RealRun& reference =
      reference_run(scenario, way.system + std::string("_copies_") + std::to_string(way.ranks));
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

TEST(MasterCopies, EndWhereWeightsThatAreTheirOwnMastersDo) {
  expect_the_reference({"resident", {}});
  expect_the_reference({"zero_offload", {"strategy.weights.home=host"}});
  // gradients land in the states
  expect_the_reference({"zero_offload",
                        {"strategy.weights.home=gpu", "parallel.data=2", "parallel.zero_stage=2"},
                        2});
}

TEST(MasterCopies, EndWhereTheReferenceDoesInManySystems) {
  MANY_SYSTEMS_TEST();
  for (const char* system : {"zero_infinity", "memascend", "lohan", "superoffload", "mlp_offload",
                             "stronghold", "slideformer", "colossal_gemini"})
    expect_the_reference({system, {}});
  expect_the_reference({"zero_infinity", {"strategy.weights.max_in_host=3e6 params"}});
  expect_the_reference({"zero_infinity",
                        {"strategy.optimizer.order=alternating", "strategy.optimizer.buffers=12",
                         "strategy.optimizer.subgroup=1e6 params"}});
  const Way of_two[] = {
      {"resident", {"parallel.data=2", "parallel.zero_stage=3"}, 2},
      {"resident",
       {"parallel.data=2", "parallel.zero_stage=2", "strategy.optimizer.flatten=true"},
       2},
      {"zero_infinity", {"parallel.data=2"}, 2},
      {"zero_infinity",
       {"parallel.data=2", "strategy.optimizer.home=host", "strategy.gradients.policy=host_fp32"},
       2},
      {"zero_offload",
       {"strategy.weights.home=gpu", "parallel.data=2", "parallel.zero_stage=1",
        "training.gradient_accumulation=2"},
       2},
  };
  for (const Way& way : of_two) expect_the_reference(way);
}

}  // namespace
}  // namespace spillway::hw_backend::master_copies_test
