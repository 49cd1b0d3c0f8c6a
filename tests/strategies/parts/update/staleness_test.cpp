#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::staleness_test {
namespace {

/// A llama of 41.7e6 parameters, all of them updated on the CPU.
description::Scenario training(const std::string& staleness, Overrides overrides = {}) {
  overrides.push_back("strategy.optimizer.staleness=" + staleness);
  overrides.push_back("strategy.weights.persistence_threshold=0 params");
  return small_model("llama", "zero_offload", overrides);
}

double parameters() { return static_cast<double>(model_of(training("0")).parameters.value()); }

/// Seconds of forward, backward and overflow check.
double passes(const result::Result& run) {
  return run.forward_s + run.backward_s + run.overflow_check_s;
}

TEST(Staleness, AnUpdateAsLongAsTheStepHidesTheStep) {
  // Adam alone takes N / 5e7 s, the passes far less: they run beside it
  const Overrides slow{"machine.host.adam=0.05 Gparam/s"};
  const double adam = parameters() / 5e7;
  const result::Result now = simulate(training("0", slow)), late = simulate(training("1", slow));
  EXPECT_LT(passes(now), 0.1 * adam);
  EXPECT_GE(now.step_time_s, adam + now.forward_s + now.backward_s);
  EXPECT_NEAR(late.step_time_s, adam, 0.03 * adam);
  EXPECT_GE(late.step_time_s, adam);
}

TEST(Staleness, AStepLongerThanTheUpdateHidesTheUpdate) {
  const Overrides slow{"machine.gpu.compute.fp16=0.1 TFLOPS"};
  const result::Result now = simulate(training("0", slow)), late = simulate(training("1", slow));
  const double update = now.update_s - now.overflow_check_s;
  EXPECT_GT(passes(now), 2 * update);
  // what is left is the copy of the new weights, 2 B a parameter read and 2 written
  const double publish = 4 * parameters() / training("1").machine.host.memory_rate.value();
  EXPECT_NEAR(late.step_time_s, passes(now) + publish, 0.03 * now.step_time_s);
  EXPECT_LT(late.step_time_s, now.step_time_s - 0.8 * update);
}

TEST(Staleness, TheFirstStepThatCountsHasAnUpdateBesideIt) {
  EXPECT_TRUE(simulate(training("1", {"run.warmup_steps=0", "run.steps=1"})).steady);
  EXPECT_EQ(count(training("1", {"run.warmup_steps=0", "run.steps=1"})).steps.size(),
            4u);  // set-up, two warm-up steps, one that is measured
}

TEST(Staleness, GradientsOfTwoStepsHaveABufferEach) {
  const result::PeakBytes now = count(training("0")).result.host;
  const result::PeakBytes late = count(training("1")).result.host;
  const std::uint64_t flat = at_peak(now, "gradient_flat_buffer");
  // the late one has whole sectors for the weights that take their gradients' place
  EXPECT_GE(at_peak(late, "gradient_flat_buffer"), 2 * flat);
  EXPECT_LE(at_peak(late, "gradient_flat_buffer"),
            2 * (flat + 4096 * model_of(training("0")).weights.size()));
  // and gradients are read where they arrived
  EXPECT_GT(at_peak(now, "optimizer_gradient_buffers"), 0u);
  EXPECT_EQ(at_peak(late, "optimizer_gradient_buffers"), 0u);
}

TEST(Staleness, WeightsOnTheGpuAreRenewedBetweenSteps) {
  const Overrides on_gpu{"strategy.weights.home=gpu", "parallel.zero_stage=2"};
  const result::Result now = count(training("0", on_gpu)).result;
  const result::Result late = count(training("1", on_gpu)).result;
  EXPECT_EQ(late.phase_bytes.at("update").h2d, now.phase_bytes.at("update").h2d);
  // ZeRO-2's gradients come down once, and so do those that stay where they arrived
  EXPECT_EQ(late.io.d2h, now.io.d2h);
}

TEST(Staleness, IsSaidWithTheResult) {
  EXPECT_FALSE(count(training("0")).result.staleness);
  const result::Result late = count(training("1")).result;
  ASSERT_TRUE(late.staleness);
  EXPECT_EQ(late.staleness->mean, 1);
  EXPECT_EQ(late.staleness->max, 1u);
  // 41.7e6 parameters in sub-groups of 6e6
  EXPECT_GE(late.staleness->blocks.size(), 7u);
  EXPECT_EQ(late.staleness->blocks.back().max, 1u);
}

TEST(Staleness, OfAnyDeviceAndHome) {
  for (const Overrides& way :
       {Overrides{"strategy.system=resident"},
        Overrides{"strategy.optimizer.home=ssd", "machine=mlp_offload_t1"},
        Overrides{"strategy.gradients.policy=host_fp16", "strategy.gradients.convert=cpu"},
        Overrides{"parallel.data=2", "training.gradient_accumulation=2"},
        Overrides{"training.precision=fp32"}})
    EXPECT_TRUE(simulate(training("1", way)).feasible()) << way.front();
}

std::string refused(const std::string& system, const Overrides& overrides) {
  try {
    small_model("llama", system, overrides);
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(Staleness, IsRefusedWhereWeightsWouldChangeUnderTheStep) {
  const std::string one = "strategy.optimizer.staleness=1";
  EXPECT_NE(refused("zero_infinity", {one}).find("one copy of each weight"), std::string::npos);
  EXPECT_NE(refused("zero_offload", {"strategy.optimizer.staleness=2"}).find("one step late"),
            std::string::npos);
  EXPECT_NE(refused("zero_offload", {one, "strategy.gradients.policy=active"})
                .find("not beside the next step"),
            std::string::npos);
  EXPECT_NE(refused("zero_offload",
                    {one, "training.optimizer_state=bf16", "training.precision=bf16_mixed"})
                .find("the weight is the master"),
            std::string::npos);
  EXPECT_NE(refused("teraio", {one}).find("end with their update"), std::string::npos);
}

}  // namespace
}  // namespace spillway::strategies::staleness_test
