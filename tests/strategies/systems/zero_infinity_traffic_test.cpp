#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::zero_infinity_traffic_test {
namespace {

using result::Phase;

// Llama-3.1-8B; its 65 norms stay on the GPU and their gradients in host memory.
constexpr std::uint64_t parameters = 8'030'261'248, norms = 65 * 4096;
constexpr std::uint64_t swapped = parameters - norms;

TEST(ZeroInfinityTraffic, ReadsTwentyAndWritesEighteenBytesPerSwappedParameter) {
  const result::IoBytes io = count(example("llama8b_memascend_c1")).result.io;
  // weights in forward and backward, gradients, states; the norms' states are swapped too
  EXPECT_EQ(io.ssd_read, (2 + 2 + 4 + 12) * swapped + 12 * norms);
  EXPECT_EQ(io.ssd_write, (4 + 12 + 2) * swapped + 12 * norms);
}

TEST(ZeroInfinityTraffic, PhasesMoveWhatThePaperSays) {
  const Counted run = count(example("llama8b_memascend_c1"));
  const auto& phases = run.result.phase_bytes;
  EXPECT_EQ(phases.at("forward").ssd_read, 2 * swapped);
  EXPECT_EQ(phases.at("forward").h2d, 2 * swapped);
  EXPECT_EQ(phases.at("forward").ssd_write, 0u);
  EXPECT_EQ(phases.at("forward").d2h, 0u);
  EXPECT_EQ(phases.at("backward").ssd_read, 2 * swapped);
  EXPECT_EQ(phases.at("backward").ssd_write, 4 * swapped);
  EXPECT_EQ(phases.at("backward").h2d, 2 * swapped + 4 * parameters);  // weights; for the norm
  EXPECT_EQ(phases.at("backward").d2h, 4 * parameters + 4 * swapped);
  EXPECT_EQ(phases.at("overflow_check").ssd_read + phases.at("overflow_check").ssd_write, 0u);
  EXPECT_EQ(phases.at("update").ssd_read, 16 * swapped + 12 * norms);
  EXPECT_EQ(phases.at("update").ssd_write, 14 * swapped + 12 * norms);
  EXPECT_EQ(phases.at("update").h2d, 2 * norms);
}

TEST(ZeroInfinityTraffic, MicroStepsRepeatTheWeightsAndReadGradientsBack) {
  const result::IoBytes io =
      count(example("llama8b_memascend_c1", {"training.gradient_accumulation=3"})).result.io;
  EXPECT_EQ(io.ssd_read, (3 * 4 + 16) * swapped + 12 * norms);
  EXPECT_EQ(io.ssd_write, 18 * swapped + 12 * norms);  // gradients once
  // weights 3 x 4; two of three micro-batches read the sum back; once for the norm
  EXPECT_EQ(io.h2d, 12 * swapped + (2 * 4 + 4) * parameters + 2 * norms);
  EXPECT_EQ(io.d2h, 3 * 4 * parameters + 4 * swapped);
}

TEST(ZeroInfinityTraffic, RanksShareBytesAndGatherTheRest) {
  const Counted one = count(example("llama8b_memascend_c1", {"training.precision=bf16_mixed"}));
  const Counted two =
      count(example("llama8b_memascend_c1", {"training.precision=bf16_mixed", "parallel.data=2"}));
  // each rank: half of every tensor. The norms' states, 532,480 B a rank, are no longer swapped
  EXPECT_EQ(two.result.io.ssd_read, one.result.io.ssd_read - 12 * norms);
  EXPECT_EQ(two.result.io.ssd_write, one.result.io.ssd_write - 12 * norms);
  // all-gather of 2 B in forward and backward, reduce-scatter of 2 B: what each of both receives;
  // the norms are whole, and gathered when they are new
  EXPECT_EQ(two.result.io.network, 2 * (3 * 2 * swapped / 2 + 2 * 2 * norms / 2));
}

TEST(ZeroInfinityTraffic, CheckpointsGoToHostAndComeBackOnce) {
  const Counted gpu = count(example("llama8b_memascend_c1"));
  const Counted host =
      count(example("llama8b_memascend_c1", {"strategy.activations.policy=checkpoint_host"}));
  const std::uint64_t checkpoints = 32ull * 2 * 4096 * 4096;
  EXPECT_EQ(host.result.phase_bytes.at("forward").d2h, checkpoints);
  EXPECT_EQ(host.result.io.h2d - gpu.result.io.h2d, checkpoints);
  EXPECT_EQ(host.result.io.d2h - gpu.result.io.d2h, checkpoints);
}

TEST(ZeroInfinityTraffic, BlocksAreRecomputedOnceAndTheHeadNever) {
  const description::Scenario scenario = example("llama8b_memascend_c1");
  const Prepared prepared = prepare(scenario);
  const Counted run = count(scenario);
  double blocks = 0;
  for (std::size_t layer = 0; layer < prepared.model.layers.size(); ++layer)
    if (prepared.model.layers[layer].is_block)
      blocks += prepared.program.flops(prepared.program.layers[layer].forward).value();
  const RankDemand& backward = run.demands.back().of(Phase::backward).ranks[0];
  EXPECT_NEAR(backward.recompute_flops / blocks, 1, 1e-12);
  EXPECT_NEAR(backward.flops / (2 * prepared.program.forward_flops().value() + blocks), 1, 1e-12);
  const Counted kept = count(example("llama8b_memascend_c1", {"strategy.activations.policy=keep"}));
  EXPECT_EQ(kept.demands.back().of(Phase::backward).ranks[0].recompute_flops, 0);
}

}  // namespace
}  // namespace spillway::strategies::zero_infinity_traffic_test
