#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

struct Case {
  std::string system;
  Overrides overrides;
};

std::string name_of(const Case& one) {
  std::string name = one.system;
  for (const std::string& override : one.overrides) name += " " + override;
  return name;
}

/// Every policy on one and two ranks; three ranks, where nothing divides, and eight.
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add_one = [&](Case one, const std::string& policy, const std::string& accumulation) {
    one.overrides.push_back("strategy.activations.policy=" + policy);
    one.overrides.push_back("training.gradient_accumulation=" + accumulation);
    one.overrides.push_back("run.steps=1");
    all.push_back(one);
  };
  const auto add = [&](const std::string& system, Overrides overrides, const std::string& ranks) {
    overrides.push_back("parallel.data=" + ranks);
    if (ranks == "1" || ranks == "2")
      for (const char* policy : {"keep", "checkpoint_gpu"})
        add_one({system, overrides}, policy, "1");
    add_one({system, overrides}, "checkpoint_host", "3");
  };
  for (const char* ranks : {"1", "2", "3", "8"}) {
    add("zero_infinity", {}, ranks);
    add("zero_offload", {}, ranks);
    for (const char* stage : {"0", "1", "2", "3"}) {
      if (std::string(ranks) == "1" && std::string(stage) != "0") continue;
      add("resident", {std::string("parallel.zero_stage=") + stage}, ranks);
      add("zero_offload",
          {std::string("parallel.zero_stage=") + stage, "strategy.weights.home=gpu"}, ranks);
    }
  }
  add("resident", {"parallel.tensor=2"}, "2");
  add("zero_infinity", {"parallel.tensor=2"}, "2");
  add("zero_offload", {"parallel.tensor=4"}, "2");
  add("zero_infinity", {"strategy.weights.home=gpu", "parallel.zero_stage=1"}, "2");
  for (const char* stage : {"1", "3"})
    add("resident",
        {std::string("parallel.zero_stage=") + stage, "machine.gpu.count=2", "machine.nodes=3"},
        "6");
  add("zero_infinity", {"parallel.tensor=2", "machine.gpu.count=4", "machine.nodes=2"}, "4");
  return all;
}

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t every = 3;  ///< of the cases: they take twenty times as long
#else
constexpr std::size_t every = 1;
#endif

class Sweep : public ::testing::TestWithParam<std::string> {};

/// Neither machine finds a conflict, and what does not depend on time is the same on both.
TEST_P(Sweep, RunsOnBothMachinesAlike) {
  const std::vector<Case> all = cases();
  for (std::size_t i = 0; i < all.size(); i += every) {
    const Case& one = all[i];
    if (GetParam() == "opt" && one.overrides[0] == "parallel.tensor=4") continue;
    SCOPED_TRACE(name_of(one));
    const description::Scenario scenario = small_model(GetParam(), one.system, one.overrides);
    result::Result counted, simulated;
    EXPECT_NO_THROW(counted = count(scenario).result);
    EXPECT_NO_THROW(simulated = simulate(scenario));
    EXPECT_TRUE(counted.feasible());
    EXPECT_TRUE(simulated.feasible());
    EXPECT_GT(simulated.step_time_s, 0);
    EXPECT_EQ(counted.io.ssd_read, simulated.io.ssd_read);
    EXPECT_EQ(counted.io.ssd_write, simulated.io.ssd_write);
    EXPECT_EQ(counted.io.h2d, simulated.io.h2d);
    EXPECT_EQ(counted.io.d2h, simulated.io.d2h);
    EXPECT_EQ(counted.io.network, simulated.io.network);
    EXPECT_EQ(counted.io.between_nodes, simulated.io.between_nodes);
    EXPECT_EQ(counted.operations, simulated.operations);
    EXPECT_EQ(counted.ssd.total, simulated.ssd.total);
    EXPECT_EQ(counted.host.phase, simulated.host.phase);
    for (const result::PurposeRow& row : result::purpose_rows()) {
      if (row.lifetime != result::Lifetime::permanent) continue;
      const auto tier = row.tier == "gpu"    ? &result::Result::gpu
                        : row.tier == "host" ? &result::Result::host
                                             : &result::Result::ssd;
      EXPECT_EQ(at_peak(counted.*tier, std::string(row.name)),
                at_peak(simulated.*tier, std::string(row.name)))
          << row.tier << " " << row.name;
    }
    // alone in a phase
    for (const char* purpose : {"offloaded_checkpoints", "optimizer_gradient_buffers"})
      EXPECT_EQ(at_peak(counted.host, purpose), at_peak(simulated.host, purpose)) << purpose;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Sweep, ::testing::ValuesIn(small_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace spillway::strategies
