#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::slideformer_test {
namespace {

description::Scenario small(Overrides more = {}) {
  more.insert(more.begin(), "training.precision=bf16_mixed");
  return small_model("llama", "slideformer", more);
}

/// Of the first block. Sub-groups are the embedding, two blocks, the last norm and the head; of
/// every other one the norm's is too small for a drive.
std::uint64_t of_the_share(const models::Model& model) {
  std::uint64_t parameters = 0;
  for (const std::uint32_t weight : model.layers[1].weights)
    parameters += model.weights[weight].parameters.value();
  return parameters;
}

// Master and both moments, 12 B a parameter, of every other sub-group, read and written once.
TEST(Slideformer, MovesTheStatesOfItsShareAndNoOthers) {
  const description::Scenario scenario =
      small({"strategy.optimizer.home=ssd", "strategy.optimizer.ssd_share=0.5"});
  const result::Result run = simulate(scenario);
  const std::uint64_t there = of_the_share(model_of(scenario));
  EXPECT_EQ(run.io.ssd_read, 12 * there);
  EXPECT_EQ(run.io.ssd_write, 12 * there);
  EXPECT_EQ(at_peak(run.host, "master_weights"),
            4 * (model_of(scenario).parameters.value() - there));
}

TEST(Slideformer, LeavesDrivesAloneByItself) {
  const result::IoBytes bytes = simulate(small()).io;
  EXPECT_EQ(bytes.ssd_read + bytes.ssd_write, 0u);
}

// Two blocks' inputs, 2 x 64 tokens of 1024 numbers of 2 bytes.
TEST(Slideformer, KeepsCheckpointsInHostMemory) {
  EXPECT_EQ(at_peak(simulate(small()).host, "offloaded_checkpoints"), 2 * 128 * 1024 * 2u);
}

TEST(Slideformer, HidesItsUpdateBehindBackward) {
  const result::Result after =
      simulate(small({"strategy.gradients.policy=host_fp16", "strategy.optimizer.read_ahead=0"}));
  const result::Result beside = simulate(small());
  EXPECT_LT(beside.update_s, after.update_s);
  EXPECT_LT(beside.step_time_s, after.step_time_s);
}

}  // namespace
}  // namespace spillway::strategies::slideformer_test
