#include "tests/reports/text/words_of.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

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

// Gradients come down as they are computed, 2 B a parameter, go up for their norms, and come down
// as fp32 ones; new weights go up in 16 bits: of what the CPU updates, 6 B down and 4 B up.
TEST(Superoffload, MovesGradientsThreeTimesAndWeightsUpOfTheCpusShare) {
  const description::Scenario scenario = small();
  const std::uint64_t share = of_the_cpu(model_of(scenario));
  const result::Result run = simulate(scenario);
  EXPECT_EQ(run.io.d2h, (2 + 4) * share);
  EXPECT_EQ(run.io.h2d, (2 + 2) * share);
  EXPECT_EQ(run.phase_bytes.at("forward").d2h + run.phase_bytes.at("forward").h2d, 0u);
  // new weights behind backward, whose copies wait for the end of all updates
  EXPECT_EQ(run.phase_bytes.at("backward").h2d, 2 * share);
  EXPECT_EQ(run.phase_bytes.at("update").h2d, 2 * share);
}

// DeepSpeed keeps nothing to take an update back with; copies are of masters and both moments.
TEST(Superoffload, KeepsOldValuesWhereItLooksThroughEachSubgroup) {
  const std::uint64_t share = of_the_cpu(model_of(small()));
  const Overrides fp16 = {"training.precision=fp16_mixed"};
  const Overrides kept = {"training.precision=fp16_mixed", "strategy.overflow_check=fused"};
  EXPECT_EQ(at_peak(simulate(small()).host, "optimizer_states"), 8 * share);
  EXPECT_EQ(at_peak(simulate(small(fp16)).host, "optimizer_states"), 8 * share);
  EXPECT_EQ(at_peak(simulate(small(kept)).host, "optimizer_states"), (8 + 12) * share);
}

// A norm is known behind the last gradient: what was updated before may have to be taken back, in
// bf16 too, and is still updated beside backward.
TEST(Superoffload, KeepsOldValuesWhereANormIsClipped) {
  const std::uint64_t share = of_the_cpu(model_of(small()));
  const result::Result plain = simulate(small());
  const result::Result clipped = simulate(small({"training.gradient_clipping=1"}));
  EXPECT_EQ(at_peak(clipped.host, "optimizer_states"), (8 + 12) * share);
  EXPECT_EQ(clipped.io.d2h, plain.io.d2h);
  const result::Result waits =
      simulate(small({"training.gradient_clipping=1", "strategy.gradients.policy=host_fp32",
                      "strategy.optimizer.roll_back=false"}));
  EXPECT_LT(clipped.update_s, waits.update_s);
  EXPECT_THAT(text::words_of(clipped.notes),
              testing::Contains(testing::HasSubstr("simulated steps are never taken back")));
}

// Of a tensor of 545 million elements a norm copies 250 million at once, also of one that stays.
TEST(Superoffload, NormsALargeTensorThatStaysInParts) {
  const result::Result run = count(example("qwen7b_workstation", {"strategy.system=superoffload",
                                                                  "training.gradient_clipping=1"}))
                                 .result;
  EXPECT_TRUE(run.feasible());
}

// Ranks tell each other the sum of their squares, 64 B in one number's place.
TEST(Superoffload, RanksAddUpOneNormBeforeAnUpdate) {
  const auto network = [](const char* clipping) {
    return simulate(small_model("llama", "zero_offload",
                                {"training.precision=bf16_mixed", "parallel.data=2", clipping}))
        .io.network;
  };
  const std::uint64_t plain = network("training.gradient_clipping=0");
  EXPECT_GT(network("training.gradient_clipping=1"), plain);
  EXPECT_LE(network("training.gradient_clipping=1"), plain + 4 * 64);
}

// In memory of the same kind: pinned gradients would stay pinned where no other process takes them.
TEST(Superoffload, UpdatesBesideBackward) {
  const Overrides pageable = {"strategy.gradients.d2h=pageable", "strategy.gradients.pinned=exact"};
  Overrides waits = {"strategy.gradients.policy=host_fp32", "strategy.optimizer.roll_back=false"};
  waits.insert(waits.end(), pageable.begin(), pageable.end());
  const result::Result after = simulate(small(waits)), beside = simulate(small(pageable));
  EXPECT_LT(beside.update_s, after.update_s);
  EXPECT_LT(beside.step_time_s, after.step_time_s);
}

/// What lies in host memory of gradients.
struct GradientsInHost {
  std::uint64_t flat, wide, left_pinned;
};
GradientsInHost gradients_of(const description::Scenario& scenario) {
  const result::PeakBytes host = count(scenario).result.host;
  return {at_peak(host, "gradient_flat_buffer"), at_peak(host, "optimizer_gradient_buffers"),
          at_peak(host, "allocator_cache")};
}

// The flat buffer has a place for those of the GPU's share too; the process that updates has a
// buffer for the largest sub-group, a block's.
TEST(Superoffload, HoldsGradientsInTwoTypesBesideTheUpdatingProcesssOwn) {
  for (const char* precision : {"bf16_mixed", "fp16_mixed"}) {
    SCOPED_TRACE(precision);
    const description::Scenario scenario = small({std::string("training.precision=") + precision});
    const models::Model model = model_of(scenario);
    const std::uint64_t share = of_the_cpu(model), all = padded(model, 2, 64);
    std::uint64_t block = 0;
    for (const std::uint32_t weight : model.layers[2].weights)
      block += model.weights[weight].parameters.value();
    const GradientsInHost held = gradients_of(scenario);
    EXPECT_GE(held.flat, all);
    EXPECT_LE(held.flat, padded(model, 2, 4096));
    EXPECT_EQ(held.wide, 4 * share + 4 * block);
    EXPECT_EQ(held.left_pinned, 4 * share);
  }
}

// Memory that is not pinned is not left behind; the process that updates pins its buffer all the
// same.
TEST(Superoffload, LeavesNoPinnedBlocksBehindWhereNothingWasPinned) {
  const GradientsInHost held =
      gradients_of(small({"strategy.gradients.d2h=pageable", "strategy.gradients.pinned=exact"}));
  const GradientsInHost pinned = gradients_of(small());
  EXPECT_EQ(held.left_pinned, 0u);
  EXPECT_EQ(held.wide, pinned.wide);
  EXPECT_EQ(held.flat, pinned.flat);
}

// The chain of operations over the flat buffer: |g| and a bool of each of its elements.
TEST(Superoffload, LooksThroughTheFlatBufferWhenAllIsUpdated) {
  const description::Scenario scenario = small({"training.precision=fp16_mixed"});
  const result::PeakBytes host = count(scenario).result.host;
  EXPECT_EQ(host.phase, "overflow_check");
  EXPECT_EQ(2 * at_peak(host, "overflow_check_temporaries"),
            3 * at_peak(host, "gradient_flat_buffer"));
}

// Gradients of the GPU's share wait there in the type of the masters.
TEST(Superoffload, KeepsFp32GradientsOfTheGpusShareThere) {
  const auto on_gpu = [&](const char* share) {
    return at_peak(simulate(small({"strategy.gradients.reduce_bucket=0 params",
                                   std::string("strategy.optimizer.cpu_share=") + share}))
                       .gpu,
                   "gradients");
  };
  const models::Model model = model_of(small());
  std::uint64_t embedding = 0;
  for (const std::uint32_t weight : model.layers[0].weights)
    embedding += model.weights[weight].parameters.value();
  EXPECT_GE(on_gpu("0.5"), 4 * embedding);
}

// Llama-3.1-8B, all on the CPU, B a parameter: 12 of states, 2 and 4 of gradients, of those 4 once
// more in the pinned blocks that they were in first, and 4 of the largest sub-group, which a tensor
// of the vocabulary fills.
TEST(Superoffload, OfEightBillionParametersTakesTwentyTwoBytesEach) {
  constexpr std::uint64_t parameters = 8'030'261'248;
  const description::Scenario scenario = example(
      "systems_2026/superoffload", {"strategy.optimizer.cpu_share=1", "strategy.pinned=exact"});
  const result::PeakBytes host = count(scenario).result.host;
  const auto per_parameter = [&](const char* purpose) {
    return static_cast<double>(at_peak(host, purpose)) / static_cast<double>(parameters);
  };
  EXPECT_NEAR(per_parameter("master_weights"), 4, 1e-3);
  EXPECT_NEAR(per_parameter("optimizer_states"), 8, 1e-3);
  EXPECT_NEAR(per_parameter("gradient_flat_buffer"), 2, 1e-3);
  EXPECT_NEAR(per_parameter("allocator_cache"), 4, 1e-3);
  const double of_process = per_parameter("optimizer_gradient_buffers") - 4;
  EXPECT_NEAR(of_process * static_cast<double>(parameters), 4.0 * 128256 * 4096, 1e6);
}

}  // namespace
}  // namespace spillway::strategies::superoffload_test
