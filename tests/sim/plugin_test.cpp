#include "sim/plugin.hpp"
#include "scenarios/description/errors.hpp"

#include <gtest/gtest.h>
#include <cstdlib>

namespace spillway::sim::test {
namespace {

description::Scenario small_box() {
  description::Scenario scenario;
  scenario.machine.gpu.memory = description::Bytes(1 << 30);
  scenario.machine.gpu.compute["bf16"] = description::FlopsPerSecond(1e12);
  scenario.machine.gpu.memory_rate = description::BytesPerSecond(1e12);
  return scenario;
}

strategies::Task<> one_kernel(strategies::Machine& machine, strategies::Op* result) {
  strategies::GpuKernel kernel;
  kernel.name = "matmul";
  kernel.flops = 1e12;
  kernel.matrix = true;
  *result = machine.run(strategies::Rank{0}, std::span(&kernel, 1));
  co_await *result;
}

// A missing plugin is asked for first: what is open stays open.
TEST(SimPlugin, SaysThatItIsMissingAndThenOpens) {
  setenv("SPILLWAY_PLUGINS", "/nowhere", 1);
  EXPECT_THROW(
      {
        try {
          open_sim_machine(small_box(), false);
        } catch (const description::DeviceError& error) {
          EXPECT_NE(std::string(error.what()).find("/nowhere/spillway_sim.so"), std::string::npos);
          throw;
        }
      },
      description::DeviceError);
  unsetenv("SPILLWAY_PLUGINS");
  prepare_sim();
  for (int i = 0; i < 3; ++i) {
    auto machine = open_sim_machine(small_box(), false);
    strategies::Op op;
    std::vector<strategies::Task<>> ranks;
    ranks.push_back(one_kernel(*machine, &op));
    machine->run_ranks(std::move(ranks));
    EXPECT_DOUBLE_EQ(op.timing().finished_s, 1.0);
    op = {};
  }
}

}  // namespace
}  // namespace spillway::sim::test
