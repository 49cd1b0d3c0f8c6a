#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies {
namespace {

// LoHan's 13B at batch 32: parameters, and rates of lohan_4090. One DeepSpeed process reaches 0.44
// of the array.
constexpr double p = 12.85e9, array = 28.1e9 * 0.44, pageable = 8.2e9, adam = 0.95e9;

struct Passes {
  double forward, blocks;
};

/// GPU seconds of a forward, and of its blocks.
Passes passes(const description::Scenario& scenario) {
  const Prepared prepared = prepare(scenario);
  const double rate = 146.6e12;
  Passes times{prepared.program.forward_flops().value() / rate, 0};
  for (std::size_t layer = 0; layer < prepared.model.layers.size(); ++layer)
    if (prepared.model.layers[layer].is_block)
      times.blocks += prepared.program.flops(prepared.program.layers[layer].forward).value() / rate;
  return times;
}

TEST(LohanPreset, ZeroInfinityIsSerialButForItsUpdate) {
  const description::Scenario scenario = example("lohan_13b_zero_infinity");
  const result::Result run = simulate(scenario);
  const auto [forward, blocks] = passes(scenario);
  EXPECT_NEAR(run.forward_s, forward + 2 * p / array, 0.03 * run.forward_s);
  const double backward = 2 * forward + blocks + (2 * p + 4 * p) / array + 2 * p / pageable;
  EXPECT_NEAR(run.backward_s, backward, 0.03 * backward);
  // pipelined: 16 B read, 14 written, one after the other on the same drives
  EXPECT_NEAR(run.update_s, 30 * p / array, 0.03 * run.update_s);
  // LoHan, Fig. 1a: 27.1 and 31.2 s; the GPU works 0.36 of the step
  EXPECT_NEAR(run.backward_s, 27.1, 0.3);
  EXPECT_NEAR(run.update_s, 31.2, 0.4);
  EXPECT_NEAR(run.step_time_s, 8.0 + 27.2 + 31.5, 0.7);
  EXPECT_NEAR(run.utilization.gpu, 0.355, 0.01);
}

TEST(LohanPreset, ZeroOffloadIsSerialThroughout) {
  const description::Scenario scenario = example("lohan_13b_zero_offload");
  const result::Result run = simulate(scenario);
  const auto [forward, blocks] = passes(scenario);
  const double step = 3 * forward + blocks + 2 * p / pageable + p / adam;
  EXPECT_NEAR(step, 39.9, 0.3);
  EXPECT_NEAR(run.step_time_s, step, 0.05 * step);
  EXPECT_EQ(run.io.ssd_read + run.io.ssd_write, 0u);
}

TEST(LohanPreset, HostHoldsTheGradientTwiceWhileItIsPinned) {
  // fp16 flat buffer, 2 B, pageable and pinned at once
  const description::Scenario scenario = example("lohan_13b_zero_infinity");
  CountingMachine machine(scenario);
  const result::Result run = strategies::run(machine, decided_as_written(scenario), "counting");
  const std::uint64_t flat = at_peak(run.host, "gradient_flat_buffer");
  EXPECT_NEAR(static_cast<double>(flat) / (2.0 * p), 1, 0.001);
  EXPECT_EQ(at_peak(run.host, "overflow_check_temporaries"), 0u);
  EXPECT_EQ(at_peak(run.host, "pinned_gradient_buffer"), 0u);
  // 40 checkpoints of 2 B x 32 x 1024 x 5120, powers of two: 320 MiB become 512
  EXPECT_EQ(at_peak(run.host, "offloaded_checkpoints"), 40 * (320ull << 20));
}

}  // namespace
}  // namespace spillway::strategies
