#include "sim/plugin.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/contents.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// MemAscend's four parts under ZeRO-Infinity's schedule, and optimizer states in bf16.
namespace spillway::strategies {
namespace {

using nlohmann::json;

TEST(MemAscend, IsZeroInfinityWithFourOtherParts) {
  const System* system = find_system("memascend");
  ASSERT_TRUE(system);
  json expected = find_system("zero_infinity")->defaults();
  expected["system"] = "memascend";
  expected["weights"]["pool"] = "adaptive";
  expected["overflow_check"] = "fused";
  expected["pinned"] = "exact";
  expected["io_engine"] = "direct";
  EXPECT_EQ(json(system->defaults()), expected);
  EXPECT_EQ(system->schedule, find_system("zero_infinity")->schedule);
}

TEST(MemAscend, MovesTheBytesOfZeroInfinityInLessMemory) {
  const result::Result one = count(small_model("llama", "zero_infinity")).result,
                       other = count(small_model("llama", "memascend")).result;
  EXPECT_EQ(one.io.ssd_read, other.io.ssd_read);
  EXPECT_EQ(one.io.ssd_write, other.io.ssd_write);
  EXPECT_EQ(one.io.h2d, other.io.h2d);
  EXPECT_EQ(one.io.d2h, other.io.d2h);
  EXPECT_EQ(one.ssd.total, other.ssd.total);
  EXPECT_LT(other.host.total, one.host.total);
  EXPECT_EQ(at_peak(other.host, "overflow_check_temporaries"), 0u);
}

// ---- States of bf16

TEST(MemAscend, MovesFp32MastersBesideNarrowStates) {
  const description::Scenario scenario =
      small_model("llama", "memascend",
                  {"training.precision=fp32", "training.optimizer_state=bf16",
                   "strategy.weights.home=gpu", "strategy.weights.pool=none"});
  const models::Model model = model_of(scenario);
  std::uint64_t norms = 0;  // their states stay in host memory
  for (const models::WeightTensor& weight : model.weights)
    if (!weight.decays()) norms += weight.parameters.value();
  // weights on the GPU, so masters besides: 4 + 2 + 2 bytes a parameter there and back
  const result::Result result = count(scenario).result;
  EXPECT_EQ(result.io.ssd_read, 8 * (model.parameters.value() - norms));
  EXPECT_EQ(result.io.ssd_write, 8 * (model.parameters.value() - norms));
}

description::Scenario narrow(const Overrides& more = {}) {
  Overrides overrides{"training.precision=bf16_mixed", "training.optimizer_state=bf16"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_model("llama", "memascend", overrides);
}

// two blocks and a final norm: five norms of 1024, 2 KiB each, which stay on the GPU
constexpr std::uint64_t norms = 5 * 1024;

TEST(MemAscend, Bf16StatesReadTenAndWriteSixBytesPerParameter) {
  const std::uint64_t swapped = model_of(narrow()).parameters.value() - norms;
  const Counted run = count(narrow());
  // weights in forward and backward; then master, which is the weight, momentum and variance
  EXPECT_EQ(run.result.io.ssd_read, (2 + 2 + 6) * swapped);
  EXPECT_EQ(run.result.io.ssd_write, 6 * swapped);
  EXPECT_EQ(run.result.phase_bytes.at("update").ssd_read, 6 * swapped);
  EXPECT_EQ(run.result.phase_bytes.at("backward").ssd_write, 0u);  // gradients stay in host memory
}

TEST(MemAscend, Bf16StatesLeaveSixBytesOnTheDriveAndHaveBuffersOfTwoByteElements) {
  const std::uint64_t swapped = model_of(narrow()).parameters.value() - norms;
  const Counted run = count(narrow());
  EXPECT_EQ(at_peak(run.result.ssd, "gradients"), 0u);
  EXPECT_EQ(at_peak(run.result.ssd, "weights"), 2 * swapped);
  EXPECT_EQ(at_peak(run.result.ssd, "optimizer_states"), 4 * swapped);
  EXPECT_EQ(run.result.ssd.total, 6 * swapped);
  // each as large as the largest sub-group, here gate and up of 4 x 1024^2 each: four for states,
  // and one for new weights, reserved though they pass by it
  EXPECT_EQ(at_peak(run.result.host, "optimizer_swap_buffers"), 4 * 2 * 8ull * 1024 * 1024);
  EXPECT_EQ(at_peak(run.result.host, "swap_out_buffer"), 2 * 8ull * 1024 * 1024);
}

/// Every place of weights and states that may be together.
TEST(MemAscend, Bf16StatesKeepTheirBooksWhereverTheyAre) {
  int legal = 0;
  for (const char* weights : {"gpu", "host", "ssd"})
    for (const char* states : {"ssd", "host"})
      for (const char* cache : {"0 B", "20 MiB", "auto"})
        for (const char* order : {"ascending", "alternating"})
          for (const char* ranks : {"1", "2"}) {
            const Overrides overrides{std::string("strategy.weights.home=") + weights,
                                      std::string("strategy.optimizer.home=") + states,
                                      std::string("strategy.optimizer.host_cache=") + cache,
                                      std::string("strategy.optimizer.order=") + order,
                                      std::string("parallel.data=") + ranks,
                                      std::string("strategy.weights.pool=") +
                                          (std::string(weights) == "ssd" ? "adaptive" : "none"),
                                      "strategy.optimizer.buffers=6",
                                      "strategy.optimizer.subgroup=1e6 params"};
            SCOPED_TRACE(::testing::PrintToString(overrides));
            const description::Scenario scenario = narrow(overrides);
            const Decision decision = decided_as_written(scenario);
            const auto check = [&](Machine& machine) {
              Contents contents(machine);
              machine.recorder().set_watch(&contents);
              EXPECT_TRUE(run(machine, decision, "either").feasible());
              EXPECT_THAT(contents.faults(), ::testing::IsEmpty());
              for (std::uint32_t tier = 0; tier < machine.ledger().tiers(); ++tier)
                EXPECT_EQ(machine.ledger().used(tier), machine.ledger().kept(tier));
            };
            CountingMachine counting(scenario);
            check(counting);
            check(*sim::open_sim_machine(scenario, false));
            ++legal;
          }
  EXPECT_EQ(legal, 3 * 2 * 3 * 2 * 2);
}

}  // namespace
}  // namespace spillway::strategies
