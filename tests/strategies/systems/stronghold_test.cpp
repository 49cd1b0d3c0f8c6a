#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::stronghold_test {
namespace {

description::Scenario small(const char* system, Overrides more = {}) {
  more.insert(more.begin(), {"strategy.overflow_check=none", "training.precision=bf16_mixed"});
  return small_model("llama", system, more);
}

// Two bytes a parameter to the GPU in forward and again in backward, two bytes a gradient back; the
// norms stay there, and their new values come at the end. No drive has a part in it.
TEST(Stronghold, MovesWeightsTwiceAndGradientsOnceAndNothingToDrives) {
  const description::Scenario scenario = small("stronghold");
  const std::uint64_t parameters = model_of(scenario).parameters.value();
  const result::IoBytes bytes = simulate(scenario).io;
  EXPECT_NEAR(static_cast<double>(bytes.h2d), 4.0 * static_cast<double>(parameters),
              0.001 * static_cast<double>(parameters));
  EXPECT_EQ(bytes.d2h, 2 * parameters);
  EXPECT_EQ(bytes.ssd_read + bytes.ssd_write, 0u);
}

// Master, both moments and the weights that kernels read: 14 bytes a parameter for all the run. A
// norm of 1024 in 16 bits takes a whole sector.
constexpr std::uint64_t norm = 2048;

TEST(Stronghold, KeepsWeightsAndStatesInHostMemory) {
  const description::Scenario scenario = small("stronghold");
  const std::uint64_t parameters = model_of(scenario).parameters.value();
  const result::PeakBytes host = simulate(scenario).host;
  EXPECT_EQ(at_peak(host, "master_weights"), 4 * parameters);
  EXPECT_EQ(at_peak(host, "optimizer_states"), 8 * parameters);
  EXPECT_EQ(at_peak(host, "parameter_flat_buffer"), 2 * parameters + 5 * norm);
}

TEST(Stronghold, HidesItsUpdateBehindBackward) {
  const result::Result after = simulate(small("zero_offload"));
  const result::Result beside = simulate(small("stronghold"));
  EXPECT_LT(beside.update_s, after.update_s);
  EXPECT_LT(beside.step_time_s, after.step_time_s);
}

// A window of several layers takes their bytes on the GPU.
TEST(Stronghold, TakesALayerMoreOnTheGpuForEachThatItsWindowHas) {
  const auto gathered = [](const char* window) {
    return at_peak(simulate(small("stronghold", {window})).gpu, "gathered_weights");
  };
  EXPECT_LT(gathered("strategy.weights.prefetch_blocks=0"),
            gathered("strategy.weights.prefetch_blocks=1"));
}

}  // namespace
}  // namespace spillway::strategies::stronghold_test
