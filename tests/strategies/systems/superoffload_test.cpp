#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::superoffload_test {
namespace {

description::Scenario small(Overrides more = {}) {
  more.insert(more.begin(), {"training.precision=bf16_mixed", "strategy.optimizer.grouping=layers",
                             "strategy.optimizer.subgroup=1 params",
                             "strategy.optimizer.cpu_share=0.5", "strategy.pinned=exact"});
  return small_model("llama", "superoffload", more);
}

/// Of the second block and the head, which are the CPU's of the four sub-groups.
std::uint64_t of_the_cpu(const models::Model& model) {
  std::uint64_t parameters = 0;
  for (std::size_t layer = 2; layer < 4; ++layer)
    for (const std::uint32_t weight : model.layers[layer].weights)
      parameters += model.weights[weight].parameters.value();
  return parameters;
}

// Gradients come down as fp32 and new weights go up in 16 bits, of what the CPU updates.
TEST(Superoffload, MovesFp32GradientsDownAndWeightsUpOfTheCpusShare) {
  const description::Scenario scenario = small();
  const std::uint64_t share = of_the_cpu(model_of(scenario));
  const result::Result run = simulate(scenario);
  EXPECT_EQ(run.io.d2h, 4 * share);
  EXPECT_EQ(run.io.h2d, 2 * share);
  EXPECT_EQ(run.phase_bytes.at("forward").d2h + run.phase_bytes.at("forward").h2d, 0u);
}

// Old values of masters and both moments, only where there is something to take back.
TEST(Superoffload, KeepsOldValuesWhereAStepMayOverflow) {
  const std::uint64_t share = of_the_cpu(model_of(small()));
  EXPECT_EQ(at_peak(simulate(small()).host, "optimizer_states"), 8 * share);
  EXPECT_EQ(at_peak(simulate(small({"training.precision=fp16_mixed"})).host, "optimizer_states"),
            (8 + 12) * share);
}

TEST(Superoffload, UpdatesBesideBackward) {
  const Overrides waits = {"strategy.gradients.policy=host_fp32",
                           "strategy.optimizer.roll_back=false"};
  const result::Result after = simulate(small(waits)), beside = simulate(small());
  EXPECT_LT(beside.update_s, after.update_s);
  EXPECT_LT(beside.step_time_s, after.step_time_s);
}

// A step that may be taken back keeps the gradients of each sub-group to its end, in its own size.
TEST(Superoffload, KeepsEachSubgroupsGradientsOnceWhereAStepMayOverflow) {
  const description::Scenario scenario = small({"training.precision=fp16_mixed"});
  EXPECT_EQ(at_peak(simulate(scenario).host, "optimizer_gradient_buffers"),
            4 * of_the_cpu(model_of(scenario)));
}

}  // namespace
}  // namespace spillway::strategies::superoffload_test
