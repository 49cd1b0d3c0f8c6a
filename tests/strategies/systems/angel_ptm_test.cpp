#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies {
namespace {

/// A llama of 41.7e6 parameters, states on one array of 6.9 GB/s read and 5.3 GB/s written.
description::Scenario training(Overrides overrides = {}) {
  overrides.insert(overrides.begin(), {"machine=mlp_offload_t1", "training.precision=bf16_mixed"});
  return small_model("llama", "angel_ptm", overrides);
}

double parameters() { return static_cast<double>(model_of(training()).parameters.value()); }

TEST(AngelPtm, NoStepWaitsForItsUpdate) {
  // states of 12 N bytes, read at 2e8 B/s, come later than ten steps of the passes alone
  const Overrides slow{"machine.storage.nvme.array_read=0.2 GB/s"};
  const result::Result loose = simulate(training(slow));
  Overrides one_by_one = slow;
  one_by_one.emplace_back("strategy.optimizer.staleness=0");
  const result::Result now = simulate(training(one_by_one));
  const double update = 12 * parameters() / 2e8;
  EXPECT_GE(now.step_time_s, update);
  EXPECT_LT(loose.step_time_s, 0.1 * update);
  // the passes, and the adding up of gradients
  EXPECT_GE(loose.step_time_s, 0.99 * (now.forward_s + now.backward_s));
  EXPECT_LT(loose.step_time_s, 2 * (now.forward_s + now.backward_s));
  EXPECT_EQ(loose.update_s, 0);
}

TEST(AngelPtm, StalenessIsStepsFromOneUpdateToTheNext) {
  // the loop takes as long as some steps: each of its rounds publishes every sub-group once
  const Overrides slow{"machine.host.adam=0.2 Gparam/s", "machine.gpu.compute.bf16=2 TFLOPS",
                       "machine.host.launch=0 s", "machine.host.module_hooks=0 s", "run.steps=20"};
  const result::Result run = simulate(training(slow));
  ASSERT_TRUE(run.staleness);
  const double round = parameters() / 2e8 / run.step_time_s;
  EXPECT_GT(round, 1.5);
  EXPECT_NEAR(run.staleness->mean, round, 0.2 * round + 0.5);
  EXPECT_GE(static_cast<double>(run.staleness->max), run.staleness->mean);
  for (const result::Lateness& block : run.staleness->blocks) EXPECT_GE(block.max, 1u);
}

// A round longer than the run: three steps see some sub-groups renewed once and others never, and
// tell as much of it as thirty do.
TEST(AngelPtm, StalenessOfAShortRunGoesByItsPace) {
  const Overrides slow{"machine.host.adam=0.02 Gparam/s", "strategy.optimizer.subgroup=1e6 params"};
  const auto run = [&](const char* steps) {
    Overrides overrides = slow;
    overrides.push_back(std::string("run.steps=") + steps);
    return simulate(training(overrides));
  };
  const result::Result brief = run("3"), whole = run("60");
  ASSERT_TRUE(brief.staleness && whole.staleness);
  EXPECT_GT(whole.staleness->mean, 5);
  EXPECT_NEAR(brief.staleness->mean, whole.staleness->mean, 0.3 * whole.staleness->mean);
  EXPECT_GE(static_cast<double>(brief.staleness->max), brief.staleness->mean);
}

TEST(AngelPtm, AFastUpdateComesOnceAStep) {
  const Overrides fast{"machine.gpu.compute.bf16=0.05 TFLOPS", "run.steps=4"};
  const result::Result run = simulate(training(fast));
  ASSERT_TRUE(run.staleness);
  EXPECT_EQ(run.staleness->max, 1u);
  EXPECT_EQ(run.staleness->mean, 1);
  EXPECT_EQ(count(training({"strategy.optimizer.staleness=0"})).result.staleness->max, 0u);
}

TEST(AngelPtm, HostHoldsWeightsAndSumsOfGradientsInPages) {
  // N tensors of 2 B a parameter, each on pages of its own; twice
  const description::Scenario scenario = training();
  const models::Model model = model_of(scenario);
  std::uint64_t pages = 0;
  for (const models::WeightTensor& weight : model.weights)
    pages += description::divide_up(2 * weight.parameters.value(), 4u << 20) * (4u << 20);
  const result::PeakBytes host = count(scenario).result.host;
  EXPECT_EQ(at_peak(host, "parameter_flat_buffer"), pages);
  EXPECT_EQ(at_peak(host, "gradient_flat_buffer") + at_peak(host, "gradient_accumulation"), pages);
  EXPECT_LT(at_peak(host, "master_weights"), 1u << 20);  // of a sub-group too small to swap
  // smaller ones waste less: 16 KiB
  const result::PeakBytes small = count(training({"strategy.weights.page=16 KiB"})).result.host;
  EXPECT_LT(at_peak(small, "parameter_flat_buffer"), pages);
  EXPECT_GE(at_peak(small, "parameter_flat_buffer"), padded(model, 2, 4096));
}

TEST(AngelPtm, RunsOnTwoRanksAndInAnyPrecision) {
  for (const Overrides& way :
       {Overrides{"parallel.data=2"}, Overrides{"training.gradient_accumulation=2"},
        Overrides{"training.precision=fp32", "machine.gpu.compute.fp32=30 TFLOPS"},
        Overrides{"strategy.optimizer.home=host"},
        Overrides{"strategy.optimizer.pipeline_read=false",
                  "strategy.optimizer.pipeline_write=false", "strategy.optimizer.buffers=3"}}) {
    const result::Result run = simulate(training(way));
    EXPECT_TRUE(run.feasible()) << way.front();
    EXPECT_TRUE(run.staleness) << way.front();
  }
}

std::string refused(const Overrides& overrides) {
  try {
    training(overrides);
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(AngelPtm, IsRefusedWhatAnUpdateAtAnyTimeWouldBreak) {
  EXPECT_NE(refused({"strategy.gradients.convert=gpu"}).find("adds gradients up in host memory"),
            std::string::npos);
  EXPECT_NE(refused({"training.precision=fp16_mixed", "strategy.overflow_check=fused"})
                .find("no step to skip"),
            std::string::npos);
  EXPECT_NE(refused({"parallel.tensor=2"}).find("tensors in common"), std::string::npos);
  EXPECT_NE(refused({"strategy.weights.home=gpu"}).find("publishes weights in host memory"),
            std::string::npos);
  EXPECT_NE(refused({"strategy.optimizer.order=alternating"}).find("in turn"), std::string::npos);
  EXPECT_NE(refused({"strategy.weights.page=1000 B"}).find("sectors of 4 KiB"), std::string::npos);
  EXPECT_NE(refused({"strategy.weights.home=ssd", "strategy.weights.pool=pages"})
                .find("weights in host memory consist of"),
            std::string::npos);
}

}  // namespace
}  // namespace spillway::strategies
