#include "tests/strategies/systems/systems.hpp"

#include <algorithm>

namespace spillway::strategies::zero_infinity_time_test {
namespace {

/// Llama-3.1-8B on memascend_c1, its drive without latency or loss, as the closed formulas have it.
description::Scenario ideal(Overrides overrides = {}) {
  overrides.push_back("training.causal_skip=false");  // the formulas count the whole square
  description::Scenario scenario = example("llama8b_memascend_c1", overrides);
  description::StorageSpec& nvme = scenario.machine.storage[0];
  nvme.mixed_efficiency = 1;
  nvme.latency = nvme.file_overhead = description::Seconds(0);
  return scenario;
}

// P; E, of the embedding and of the head; a block's share of the rest, and its largest tensor; the
// rates of memascend_c1
constexpr double p = 8'030'261'248, e = 128256.0 * 4096, block = (p - 2 * e) / 32,
                 ffn = 14336.0 * 4096;
constexpr double r = 14e9, w = 9.5e9, adam = 0.8e9, pcie = 52e9, gpu = 358e12, hbm = 2000e9,
                 convert = 65e9;

/// F = (2 (P - E) B C + 4 L B C^2 Q) / rate, C = 4096, Q = 4096; `head` FLOPs are 2 E B C of it.
double forward_s(double batch) {
  const double tokens = batch * 4096;
  return (2 * (p - e) * tokens + 4 * 32 * tokens * 4096 * 4096) / gpu;
}
double blocks_s(double batch) { return forward_s(batch) - 2 * e * batch * 4096 / gpu; }

constexpr double within = 0.05;
#define EXPECT_CLOSE(value, expected) EXPECT_NEAR((value) / (expected), 1, within)

TEST(ZeroInfinityTime, SsdBoundPhasesFollowTheFormulas) {
  const result::Result run = simulate(ideal());
  ASSERT_LT(forward_s(1), 2 * p / r / 4);  // the drive dominates
  EXPECT_CLOSE(run.forward_s, 2 * p / r);
  // the drive is never idle: the embedding comes down while writes queue
  EXPECT_NEAR(run.backward_s / (2 * p / r + 4 * p / w), 1, 0.01);
  EXPECT_CLOSE(run.overflow_check_s, 20 * p / 29.2e9);
  EXPECT_CLOSE(run.update_s - run.overflow_check_s, 16 * p / r + 14 * p / w + p / adam);
  EXPECT_TRUE(run.steady);
}

TEST(ZeroInfinityTime, GpuBoundPhasesFollowTheFormulas) {
  const result::Result run =
      simulate(ideal({"training.micro_batch=64", "strategy.gpu_capacity=unlimited",
                      "strategy.gradients.convert=cpu"}));  // nothing but passes on the GPU
  ASSERT_GT(forward_s(64), 4 * 2 * p / r);
  EXPECT_CLOSE(run.forward_s, forward_s(64));
  EXPECT_CLOSE(run.backward_s, 2 * forward_s(64) + blocks_s(64));
  EXPECT_NEAR(run.phase_busy.at("backward").gpu_recompute, blocks_s(64), 0.01 * blocks_s(64));
}

TEST(ZeroInfinityTime, MixedTrafficCostsBackwardItsShare) {
  // reads and writes at once reach 0.87 of the array
  description::Scenario mixed = ideal();
  mixed.machine.storage[0].mixed_efficiency = 0.87;
  const result::Result slow = simulate(mixed), fast = simulate(ideal());
  EXPECT_NEAR(slow.forward_s, fast.forward_s, 1e-3);  // reads alone
  EXPECT_GT(slow.backward_s, 1.05 * fast.backward_s);
  EXPECT_LE(slow.backward_s, fast.backward_s / 0.87 * 1.001);
}

TEST(ZeroInfinityTime, FusedCheckTakesAFifthOfTheTrafficAtTheNodesRate) {
  const result::Result run = simulate(ideal({"strategy.overflow_check=fused"}));
  EXPECT_CLOSE(run.overflow_check_s, 4 * p / 194e9);
  EXPECT_GT(simulate(ideal()).step_time_s - run.step_time_s, 5);
}

TEST(ZeroInfinityTime, PipelinesTurnTheUpdatesSumIntoMaxima) {
  const double read = 16 * p / r, write = 14 * p / w, compute = p / adam;
  const auto update = [](Overrides knobs) {
    knobs.push_back("strategy.optimizer.buffers=8");
    knobs.push_back("strategy.overflow_check=none");
    return simulate(ideal(knobs)).update_s;
  };
  const double none = update({});
  const double reads = update({"strategy.optimizer.pipeline_read=true"});
  const double writes = update({"strategy.optimizer.pipeline_write=true"});
  const double both =
      update({"strategy.optimizer.pipeline_read=true", "strategy.optimizer.pipeline_write=true"});
  EXPECT_CLOSE(none, read + write + compute);
  // the first of 37 groups, the embedding, and the last, the head, compute while the drive rests
  EXPECT_CLOSE(both, std::max(read + write, compute) + 2 * e / adam);
  // one alone overlaps its own direction; a write shares the drive with the next read
  EXPECT_LT(reads, 0.9 * none);
  EXPECT_LT(writes, none);
  EXPECT_GT(reads, both);
  EXPECT_GT(writes, both);
}

TEST(ZeroInfinityTime, StepIsTheSumOfItsPhases) {
  const result::Result run = simulate(ideal({"training.gradient_accumulation=2"}));
  EXPECT_NEAR(run.forward_s + run.backward_s + run.update_s, run.step_time_s, 1e-9);
  // forward and backward twice; gradients go to SSD in the last micro-step only
  EXPECT_CLOSE(run.forward_s, 2 * 2 * p / r);
  // the head's weights come up; its sums come up, are added to and go down, and do so once more for
  // their norm; no other gradient passes them
  const double first_end = 2 * e / pcie + 6 * e / hbm + 4 * 4 * e / pcie;
  EXPECT_NEAR(run.backward_s / (2 * 2 * p / r + 4 * p / w + first_end), 1, 0.02);
}

TEST(ZeroInfinityTime, WithoutOverlapOfWeightsForwardIsASum) {
  // batch 8: 1.35 s of kernels against 1.15 s of reads
  const Overrides batch{"training.micro_batch=8", "strategy.gpu_capacity=unlimited"};
  Overrides serial = batch;
  serial.push_back("strategy.weights.overlap=false");
  const double kernels = forward_s(8), reads = 2 * p / r;
  // the embedding's read fills the pipeline, and the head's is longer than a block's kernels
  const double fill = 2 * e / r + 2 * e / pcie + 2 * block / r + 2 * ffn / pcie;
  const double head = 2 * e / r + 2 * e / pcie - blocks_s(8) / 32;
  EXPECT_NEAR(simulate(ideal(batch)).forward_s / (kernels + fill + head), 1, 0.02);
  EXPECT_CLOSE(simulate(ideal(serial)).forward_s, kernels + reads);
}

TEST(ZeroInfinityTime, WithoutOverlapOfGradientsBackwardIsASum) {
  const Overrides cpu{"strategy.gradients.convert=cpu", "strategy.weights.overlap=false"};
  Overrides serial = cpu;
  serial.push_back("strategy.gradients.overlap=false");
  const result::Result run = simulate(ideal(serial));
  const double kernels = 2 * forward_s(1) + blocks_s(1);
  // of a block: its last tensor up; widening (2 + 4 B), which hides the copies down; its copy to
  // the staging buffer (4 + 4 B) hides behind the writes
  const double blocks = 32 * (2 * ffn / pcie + 6 * block / convert);
  // head and embedding are one tensor each, and hide nothing; the embedding has no kernel, and goes
  // up while its gradient comes down
  const double ends = 2 * (2 * e / pcie + 14 * e / convert) + 2 * e / pcie;
  EXPECT_NEAR(run.backward_s / (kernels + 2 * p / r + 4 * p / w + blocks + ends), 1, within);
  EXPECT_GT(run.backward_s, simulate(ideal(cpu)).backward_s + 2 * p / pcie);
}

TEST(ZeroInfinityTime, FlushTailMovesWritesIntoTheUpdate) {
  const Overrides knobs{"strategy.overflow_check=none"};
  Overrides tail = knobs;
  tail.push_back("strategy.gradients.flush_tail=2 GiB");
  const result::Result all = simulate(ideal(knobs)), late = simulate(ideal(tail));
  // the last write, the embedding's gradient, is 4 x 128256 x 4096 B < 2 GiB: 0.22 s
  const double moved = 4 * 128256.0 * 4096 / w;
  EXPECT_NEAR(all.backward_s - late.backward_s, moved, 0.01 * moved);
  EXPECT_NEAR(late.update_s - all.update_s, moved, 0.01 * moved);
  EXPECT_EQ(all.io.ssd_write, late.io.ssd_write);
}

}  // namespace
}  // namespace spillway::strategies::zero_infinity_time_test
