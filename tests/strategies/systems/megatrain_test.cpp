#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::megatrain_test {
namespace {

description::Scenario small(Overrides more = {}) {
  more.insert(more.begin(), "training.precision=bf16");
  return small_model("llama", "megatrain", more);
}

std::uint64_t parameters_of(const models::Model& model, std::size_t layer) {
  std::uint64_t parameters = 0;
  for (const std::uint32_t weight : model.layers[layer].weights)
    parameters += model.weights[weight].parameters.value();
  return parameters;
}

// Two norms of 1024 in 16 bits take a sector of 4096 B each.
constexpr std::uint64_t norms = 2 * 2048;

// Weights and gradients of 16 bits and two moments of 32; nothing else grows with the model.
TEST(Megatrain, KeepsTwelveBytesAParameterInHostMemory) {
  const description::Scenario scenario = small();
  const std::uint64_t parameters = model_of(scenario).parameters.value();
  const result::PeakBytes host = simulate(scenario).host;
  EXPECT_EQ(at_peak(host, "optimizer_states"), 8 * parameters);
  EXPECT_EQ(at_peak(host, "master_weights"), 0u);
  EXPECT_NEAR(static_cast<double>(at_peak(host, "parameter_flat_buffer")), 2.0 * parameters,
              0.001 * parameters);
  EXPECT_NEAR(static_cast<double>(at_peak(host, "gradient_flat_buffer")), 2.0 * parameters,
              0.001 * parameters);
}

TEST(Megatrain, HasMastersInMixedPrecision) {
  const description::Scenario scenario = small({"training.precision=bf16_mixed"});
  EXPECT_EQ(at_peak(simulate(scenario).host, "master_weights"),
            4 * model_of(scenario).parameters.value());
}

TEST(Megatrain, HasSlabsOfABlocksGradientsAndOneOfEachOtherLayers) {
  const models::Model model = model_of(small());
  std::uint64_t others = norms / 2;  // the last norm
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
    if (!model.layers[layer].is_block) others += 2 * parameters_of(model, layer);
  const std::uint64_t slab = 2 * parameters_of(model, 1) + norms;
  const auto slabs = [&](const char* count) {
    return at_peak(simulate(small({count})).host, "pinned_gradient_buffer");
  };
  EXPECT_EQ(slabs("strategy.gradients.slabs=12"), 12 * slab + others);
  EXPECT_EQ(slabs("strategy.gradients.slabs=1"), slab + others);
}

// Two blocks share a checkpoint: the first runs, and comes, once more for the second one's input.
TEST(Megatrain, StreamsABlockOnceMoreForTheInputThatItMakesAgain) {
  const std::uint64_t block = parameters_of(model_of(small()), 1);
  const auto h2d = [](const char* every) { return simulate(small({every})).io.h2d; };
  EXPECT_EQ(h2d("strategy.activations.checkpoint_every=4"),
            h2d("strategy.activations.checkpoint_every=1") + 2 * block + norms);
}

// What is run again is backward's recomputation of both blocks, and the first one's forward.
TEST(Megatrain, RunsThatBlockOnceMore) {
  const auto again = [](const char* every) {
    return simulate(small({every})).phase_busy.at("backward").gpu_recompute;
  };
  EXPECT_NEAR(again("strategy.activations.checkpoint_every=4"),
              1.5 * again("strategy.activations.checkpoint_every=1"),
              0.05 * again("strategy.activations.checkpoint_every=1"));
}

// The other block's input, 2 x 64 tokens of 1024 numbers of 2 bytes, is not kept meanwhile.
TEST(Megatrain, KeepsACheckpointForSeveralBlocks) {
  const description::Scenario scenario = small();
  const Prepared prepared = prepare(scenario);
  const auto kept = [&](std::uint64_t every) {
    return bytes_of(prepared.program,
                    checkpoint_blocks(prepared.model, prepared.program, Fate::host, every),
                    Fate::host);
  };
  EXPECT_EQ(kept(1), 2 * 128 * 1024 * 2u);
  EXPECT_EQ(kept(2), 128 * 1024 * 2u);
  EXPECT_EQ(kept(4), 128 * 1024 * 2u);
}

}  // namespace
}  // namespace spillway::strategies::megatrain_test
