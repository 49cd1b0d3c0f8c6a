#include "strategies/run/counting_probe.hpp"

#include "strategies/decide/decide.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

/// What a probe says of a scenario with many micro-batches, which it does not run one by one.
namespace spillway::strategies::counting_probe_test {
namespace {

class ManyMicroBatches : public ::testing::TestWithParam<std::string> {};

TEST_P(ManyMicroBatches, TakeWhatTheirWholeStepTakes) {
  const Overrides overrides{"training.gradient_accumulation=9", "machine=lohan_4090_csd"};
  const description::Scenario scenario = small_model("llama", GetParam(), overrides);
  const Prepared prepared = prepare(scenario);
  const ActivationPlan fates = decide_fates(scenario, prepared, counting_probe()).activations;
  const Peaks probed = counting_probe()({scenario, prepared, fates});
  const Counted whole = count(scenario);
  ASSERT_TRUE(whole.result.feasible());
  EXPECT_EQ(probed.gpu, whole.result.gpu.total);
  EXPECT_EQ(probed.host, whole.result.host.total);
}
INSTANTIATE_TEST_SUITE_P(EverySystem, ManyMicroBatches, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const System& system : catalogue())
                             if (!plans_steps(system.name))  // those ask no probe
                               names.emplace_back(system.name);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST(ProbedStages, TakeAsManyMicroBatchesAsAreUnderWay) {
  const description::Scenario scenario =
      small_model("llama", "resident",
                  {"model.num_hidden_layers=4", "parallel.pipeline=4", "machine.gpu.count=4",
                   "training.gradient_accumulation=9"});
  const Prepared prepared = prepare(scenario);
  const ActivationPlan fates = decide_fates(scenario, prepared, counting_probe()).activations;
  EXPECT_EQ(counting_probe()({scenario, prepared, fates}).gpu, count(scenario).result.gpu.total);
}

// GPipe's stages hold what all micro-batches saved.
TEST(ProbedStages, TakeAllMicroBatchesOfGpipe) {
  const description::Scenario scenario =
      small_model("llama", "resident",
                  {"model.num_hidden_layers=4", "parallel.pipeline=2", "parallel.schedule=gpipe",
                   "machine.gpu.count=2", "training.gradient_accumulation=9"});
  const Prepared prepared = prepare(scenario);
  const ActivationPlan fates = decide_fates(scenario, prepared, counting_probe()).activations;
  EXPECT_EQ(counting_probe()({scenario, prepared, fates}).gpu, count(scenario).result.gpu.total);
}

// All sub-groups are too small to be swapped: that is a count too, no lack of one.
TEST(ProbedSubgroups, AreNoneWhereAllStayInMemory) {
  const description::Scenario scenario =
      small_model("llama", "mlp_offload", {"training.method=lora", R"(training.lora={"rank": 1})"});
  const Prepared prepared = prepare(scenario);
  const ActivationPlan fates = decide_fates(scenario, prepared, counting_probe()).activations;
  EXPECT_EQ(counting_probe()({scenario, prepared, fates}).subgroups, std::uint64_t{0});
}

}  // namespace
}  // namespace spillway::strategies::counting_probe_test
