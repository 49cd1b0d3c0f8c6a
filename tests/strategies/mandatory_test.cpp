#include "strategies/counting/mandatory.hpp"

#include "tests/strategies/systems.hpp"

namespace spillway::strategies {
namespace {

double bound(const description::Scenario& scenario) {
  const auto mandatory = Mandatory::of(scenario);
  return mandatory ? mandatory->step_s(scenario) : -1;
}

const char* too_small(const description::Scenario& scenario, const description::Scenario& on) {
  const auto mandatory = Mandatory::of(scenario);
  return mandatory ? mandatory->too_small(on.machine) : "nothing";
}

TEST(Mandatory, IsTheSameForMachinesThatDifferInRatesAndSizes) {
  const description::Scenario one = small_model("gpt2", "zero_infinity", {"run.steps=1"});
  description::Scenario other = one;
  other.machine.storage[0].read = other.machine.storage[0].read * 3;
  other.machine.storage[0].count = 2;
  other.machine.host.memory = description::Bytes(1);
  other.machine.gpu.memory = description::Bytes(1);
  other.machine.pcie.h2d = other.machine.pcie.h2d * 2;
  EXPECT_EQ(Mandatory::of(one)->step_s(one), Mandatory::of(other)->step_s(one));
  EXPECT_EQ(Mandatory::of(one)->step_s(other), Mandatory::of(other)->step_s(other));
}

TEST(Mandatory, TakesNoMoreThanASimulatedStep) {
  for (const char* system : {"resident", "zero_offload", "zero_infinity", "memascend", "lohan"}) {
    const description::Scenario scenario = small_model("gpt2", system, {"run.steps=1"});
    const double least = bound(scenario);
    EXPECT_GT(least, 0) << system;
    EXPECT_LE(least, simulate(scenario).step_time_s) << system;
  }
}

TEST(Mandatory, KnowsMemoriesThatCannotHoldWhatStays) {
  const description::Scenario scenario = small_model("gpt2", "zero_infinity", {"run.steps=1"});
  description::Scenario box = scenario;
  EXPECT_EQ(too_small(scenario, box), nullptr);
  box.machine.host.memory = description::Bytes(1);
  EXPECT_STREQ(too_small(scenario, box), "host");
  box.machine.host.memory = description::Bytes(0);  // unlimited
  box.machine.gpu.memory = description::Bytes(1);
  EXPECT_STREQ(too_small(scenario, box), scenario.machine.gpu.context.value() ? "gpu" : nullptr);
  box.machine.gpu.memory = description::Bytes(0);
  box.machine.storage[0].capacity = description::Bytes(1);
  EXPECT_STREQ(too_small(scenario, box), "ssd");
}

TEST(Mandatory, IsNothingForAStreamOfRequests) {
  description::Scenario scenario = small_model("gpt2", "zero_infinity", {});
  scenario.run.io_bench.emplace();
  EXPECT_FALSE(Mandatory::of(scenario));
}

}  // namespace
}  // namespace spillway::strategies
