#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies {
namespace {

using description::Bytes;

/// Allocators without rounding, so that a byte is a byte.
description::Scenario exact(const std::string& system, Overrides overrides = {}) {
  overrides.push_back("strategy.gpu_allocator=exact");
  return small_model("llama", system, overrides);
}

TEST(Infeasible, HostThatIsExactlyFullFitsAndOneByteLessDoesNot) {
  description::Scenario scenario = exact("zero_infinity");
  const result::Result free = count(scenario).result;
  const std::uint64_t parameters = model_of(scenario).parameters.value();
  ASSERT_EQ(free.host.phase, "overflow_check");
  scenario.machine.host.memory = Bytes(free.host.total);
  EXPECT_TRUE(count(scenario).result.feasible());
  EXPECT_TRUE(simulate(scenario).feasible());
  scenario.machine.host.memory = Bytes(free.host.total - 1);
  for (const result::Result& run : {count(scenario).result, simulate(scenario)}) {
    ASSERT_TRUE(run.infeasible);
    EXPECT_EQ(run.infeasible->tier, "host");
    EXPECT_EQ(run.infeasible->rank, 0u);
    EXPECT_EQ(run.infeasible->purpose, "overflow_check_temporaries");
    EXPECT_EQ(run.infeasible->phase, "overflow_check");
    EXPECT_EQ(run.infeasible->asked_bytes, parameters);  // a bool an element
    EXPECT_EQ(run.infeasible->free_bytes, parameters - 1);
    EXPECT_EQ(run.infeasible->capacity_bytes, free.host.total - 1);
    EXPECT_EQ(run.host.total, 0u);  // what it held until then is no peak
    EXPECT_FALSE(run.needed);
    EXPECT_EQ(run.step_time_s, 0);
  }
}

TEST(Infeasible, GpuThatIsExactlyFullFitsAndOneByteLessDoesNot) {
  description::Scenario scenario = exact("resident");
  scenario.strategy.gradients.memory = description::GradientMemory::at_start;
  const result::Result free = count(scenario).result;
  scenario.machine.gpu.memory = Bytes(free.gpu.total);
  EXPECT_TRUE(count(scenario).result.feasible());
  scenario.machine.gpu.memory = Bytes(free.gpu.total - 1);
  for (const result::Result& run : {count(scenario).result, simulate(scenario)}) {
    ASSERT_TRUE(run.infeasible);
    EXPECT_EQ(run.infeasible->tier, "gpu");
    EXPECT_EQ(run.infeasible->phase, free.gpu.phase);
    EXPECT_EQ(run.infeasible->free_bytes, run.infeasible->asked_bytes - 1);
    EXPECT_EQ(run.infeasible->capacity_bytes, free.gpu.total - 1);
  }
}

TEST(Infeasible, UnlimitedGpuHasNoWall) {
  description::Scenario scenario = exact("resident", {"strategy.gpu_capacity=unlimited"});
  scenario.machine.gpu.memory = Bytes(1);
  EXPECT_TRUE(count(scenario).result.feasible());
}

TEST(Infeasible, DriveThatIsExactlyFullFitsAndOneByteLessDoesNot) {
  description::Scenario scenario = exact("zero_infinity");
  const result::Result free = count(scenario).result;
  description::StorageSpec& drive = scenario.machine.storage[0];
  drive.count = 1;
  drive.capacity = Bytes(free.ssd.total);
  EXPECT_TRUE(count(scenario).result.feasible());
  drive.capacity = Bytes(free.ssd.total - 1);
  for (const result::Result& run : {count(scenario).result, simulate(scenario)}) {
    ASSERT_TRUE(run.infeasible);
    EXPECT_EQ(run.infeasible->tier, "ssd");
    EXPECT_EQ(run.infeasible->phase, "init");
    EXPECT_EQ(run.infeasible->free_bytes, run.infeasible->asked_bytes - 1);
  }
}

TEST(Infeasible, SecondRankCanBeTheOneThatFails) {
  // all that resident wants of the host is each process itself
  description::Scenario scenario = exact("resident", {"parallel.data=2"});
  description::HostSpec& host = scenario.machine.host;
  const std::uint64_t first = host.process_base.value() + host.runtime_base.value();
  const std::uint64_t second = host.process_base_next.value();
  ASSERT_GT(second, 0u);
  host.memory = Bytes(first + second);
  EXPECT_TRUE(count(scenario).result.feasible());
  host.memory = Bytes(first + second - 1);
  for (const result::Result& run : {count(scenario).result, simulate(scenario)}) {
    ASSERT_TRUE(run.infeasible);
    EXPECT_EQ(run.infeasible->rank, 1u);
    EXPECT_EQ(run.infeasible->purpose, "process_base");
    EXPECT_EQ(run.infeasible->phase, "init");
    EXPECT_EQ(run.infeasible->asked_bytes, second);
    EXPECT_EQ(run.infeasible->free_bytes, second - 1);
  }
}

TEST(Infeasible, EveryMemoryBelowThePeakEndsCleanly) {
  // wherever the request fails: in set-up, with coroutines waiting, with transfers in flight
  for (const char* system : {"zero_infinity", "zero_offload"}) {
    description::Scenario scenario =
        exact(system, {"parallel.data=2", "strategy.activations.policy=checkpoint_host"});
    const result::Result free = count(scenario).result;
    for (int part = 1; part < 16; ++part) {
      description::Scenario small = scenario;
      small.machine.host.memory = Bytes(free.host.total * part / 16);
      EXPECT_FALSE(count(small).result.feasible()) << system << " host " << part;
      EXPECT_FALSE(simulate(small).feasible()) << system << " host " << part;
      small = scenario;
      small.machine.gpu.memory = Bytes(free.gpu.total * part / 32);
      EXPECT_FALSE(count(small).result.feasible()) << system << " gpu " << part;
      EXPECT_FALSE(simulate(small).feasible()) << system << " gpu " << part;
    }
  }
}

}  // namespace
}  // namespace spillway::strategies
