#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::greedysnake_test {
namespace {

description::Scenario small(Overrides more = {}) {
  more.insert(more.begin(), {"training.precision=bf16_mixed", "training.gradient_accumulation=4",
                             "strategy.optimizer.subgroup=1e7 params"});
  return small_model("llama", "greedysnake", more);
}

// Weights come once a pass, whatever the number of micro-batches, and gradients leave once.
TEST(Greedysnake, MovesWeightsAndGradientsOnceForAllMicroBatches) {
  const Overrides one = {"training.gradient_accumulation=1"};
  EXPECT_EQ(simulate(small()).io.ssd_read, simulate(small(one)).io.ssd_read);
  EXPECT_EQ(simulate(small()).io.ssd_write, simulate(small(one)).io.ssd_write);
  const Overrides by_turns = {"strategy.micro_batches=one_by_one",
                              "strategy.optimizer.delayed_share=0"};
  const result::IoBytes all = simulate(small(by_turns)).io;
  EXPECT_GT(all.ssd_read, simulate(small()).io.ssd_read);
  // of each further micro-batch the gradients of all weights come down, and its checkpoints too
  EXPECT_EQ(all.d2h - simulate(small()).io.d2h, 3 * 2 * model_of(small()).parameters.value());
}

// Of each of four micro-batches two blocks' inputs, 2 x 64 tokens of 1024 numbers of 2 bytes.
TEST(Greedysnake, KeepsTheCheckpointsOfAllMicroBatches) {
  EXPECT_EQ(at_peak(simulate(small()).host, "offloaded_checkpoints"), 4 * 2 * 128 * 1024 * 2u);
}

TEST(Greedysnake, HidesADelayedPartOfTheUpdateBehindTheNextForward) {
  const auto of = [](const char* share) {  // a forward of many samples leaves the drive idle
    return simulate(small({share, "training.micro_batch=256"}));
  };
  const result::Result now = of("strategy.optimizer.delayed_share=0");
  const result::Result later = of("strategy.optimizer.delayed_share=0.5");
  EXPECT_LT(later.update_s, now.update_s);
  EXPECT_LT(later.step_time_s, now.step_time_s);
  EXPECT_EQ(later.io.ssd_read, now.io.ssd_read);
}

}  // namespace
}  // namespace spillway::strategies::greedysnake_test
