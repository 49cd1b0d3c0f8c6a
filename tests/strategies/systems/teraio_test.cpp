#include "strategies/layout/pipeline.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace spillway::strategies {
namespace {

/// The small llama on a box whose GPU has `memory`, one or two stages.
description::Scenario small(const std::string& memory, const Overrides& more = {}) {
  Overrides all = {"training.precision=fp32",
                   "training.gradient_accumulation=4",
                   "parallel.data=1",
                   "parallel.zero_stage=0",
                   "machine.gpu.memory=" + memory,
                   "machine.gpu.context=0 B",
                   "machine.gpu.gpudirect=true",
                   "strategy.io_engine=gds",
                   "strategy.plan.min_tensor=64 KiB",
                   "strategy.plan.chunk=256 KiB"};
  all.insert(all.end(), more.begin(), more.end());
  return small_model("llama", "teraio", all);
}

description::Scenario ideal(description::Scenario scenario) {
  scenario.strategy.activations.policy = description::ActivationPolicy::keep;
  scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  return scenario;
}

TEST(TeraIO, AJobThatFitsMovesNothingAndTakesIdealTime) {
  const description::Scenario scenario = small("80 GiB");
  const result::Result run = simulate(scenario);
  EXPECT_EQ(run.plan.at("moved"), 0);
  EXPECT_EQ(run.io.ssd_read + run.io.ssd_write + run.io.h2d + run.io.d2h, 0u);
  EXPECT_EQ(run.step_time_s, simulate(ideal(scenario)).step_time_s);
}

TEST(TeraIO, TakesTheTimeThatThePlannerPredicts) {
  // 8 B parameters on two GPUs of 94 GB: states and activations of two micro-batches do not fit
  for (const char* destinations : {R"(["ssd"])", R"(["ssd","host"])"}) {
    const description::Scenario scenario = small_model(
        "llama", "teraio",
        {"model=llama-3.1-8b", "machine=teraio_2xh100", "training.precision=fp32",
         "training.micro_batch=4", "training.sequence=2048", "training.fused_kernels=false",
         "training.gradient_accumulation=4", "parallel.data=1", "parallel.pipeline=2",
         std::string("strategy.plan.destinations=") + destinations});
    const result::Result run = simulate(scenario);
    ASSERT_TRUE(run.feasible()) << destinations;
    EXPECT_GT(run.plan.at("moved"), 0);
    EXPECT_LE(run.gpu.total, 94'000'000'000u);
    const double predicted = run.plan.at("step_s");
    EXPECT_LT(run.step_time_s, 1.05 * predicted) << destinations;
    // a stage's plan does not know that its waits fall into those of the other
    EXPECT_GT(run.step_time_s, 0.9 * predicted) << destinations;
  }
}

TEST(TeraIO, StagingHasTheArrayAndTheLinkWorkAtOnce) {
  const auto step = [](const char* machine) {
    return simulate(
               small_model("llama", "teraio",
                           {"model=gpt2-xl", std::string("machine=") + machine,
                            "training.micro_batch=4", "training.sequence=1024", "parallel.data=1"}))
        .step_time_s;
  };
  const double direct = step("lohan_4090_gds");
  ASSERT_GT(direct, 0);
  EXPECT_LT(step("lohan_4090"), 1.1 * direct);  // both resources at once: the array is the slower
}

TEST(TeraIO, BytesThatLeaveComeBackEveryStep) {
  const result::Result run = simulate(small(
      "300 MiB", {R"(strategy.plan.destinations=["ssd"])", "strategy.plan.drop_clean=false"}));
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(run.io.ssd_read, run.io.ssd_write);
  EXPECT_EQ(run.io.gpu_direct, run.io.ssd_read + run.io.ssd_write);
  EXPECT_EQ(run.io.h2d, 0u);
}

TEST(TeraIO, EachOfAdamsKernelsHoldsThreeTensorsAtMost) {
  // 72 B a parameter in place of 28, and never weight, gradient and both states at once
  const result::Result loop = simulate(small("80 GiB"));
  const result::Result fused = simulate(small("80 GiB", {"strategy.optimizer.kernels=fused"}));
  EXPECT_GT(loop.update_s, 2 * fused.update_s);
  const auto active = [](const result::Result& run) {
    return run.plan.at("active_fraction_max").get<double>();
  };
  EXPECT_LE(active(loop), active(fused));
  EXPECT_EQ(loop.io.ssd_read, 0u);
}

TEST(TeraIO, CountsWhatItSimulates) {
  const description::Scenario scenario = small("300 MiB");
  const Counted counted = count(scenario);
  ASSERT_TRUE(counted.result.feasible());
  EXPECT_EQ(counted.result.plan.at("moved"), simulate(scenario).plan.at("moved"));
}

TEST(TeraIO, SaysWhichOperandNoPlanCanHold) {
  const result::Result run = simulate(small("8 MiB"));
  ASSERT_FALSE(run.feasible());
  EXPECT_EQ(run.infeasible->tier, "gpu");
  EXPECT_GT(run.infeasible->asked_bytes, run.infeasible->free_bytes);
}

TEST(TeraIO, SaysThatTheHostIsFull) {
  const result::Result run = simulate(small(
      "300 MiB", {R"(strategy.plan.destinations=["host"])", "strategy.plan.host_limit=1 MiB"}));
  ASSERT_FALSE(run.feasible());
  EXPECT_EQ(run.infeasible->tier, "host");
}

// With states on drives as slow as backward is long, an update beside backward hides in part.
TEST(TeraIO, UpdatesBesideBackwardWhereItIsTold) {
  const Overrides slow{R"(strategy.plan.destinations=["ssd"])", "training.gradient_accumulation=1",
                       "machine.gpu.compute.fp32=2 TFLOPS"};
  Overrides beside = slow;
  beside.emplace_back("strategy.optimizer.overlap=backward");
  const result::Result behind = simulate(small("300 MiB", slow));
  const result::Result together = simulate(small("300 MiB", beside));
  ASSERT_TRUE(behind.feasible() && together.feasible());
  EXPECT_GT(behind.update_s, 0);
  EXPECT_EQ(together.update_s, 0);
  EXPECT_LT(together.step_time_s, behind.step_time_s);
  // where all fits it is the same kernels in another order
  const result::Result fits = simulate(small("80 GiB", slow));
  EXPECT_NEAR(simulate(small("80 GiB", beside)).step_time_s, fits.step_time_s, 1e-9);
}

TEST(TeraIO, UpdatesBesideTheLastBackwardOfAStep) {
  // two stages, tied weights on both: those are summed and updated behind backward
  const Overrides tied{"parallel.pipeline=2", "strategy.optimizer.overlap=backward",
                       "model.tie_word_embeddings=true"};
  const result::Result run = simulate(small("80 GiB", tied));
  ASSERT_TRUE(run.feasible());
  EXPECT_GT(run.update_s, 0);
}

/// Where a scenario is refused; "" where it is not.
std::string refused_at(const std::string& system, const std::string& override) {
  try {
    static_cast<void>(small_model("llama", system, {override}));
  } catch (const description::ScenarioError& error) {
    return error.complaints().front().path;
  }
  return "";
}

TEST(Overlap, OfTheUpdateIsForThoseWhoUpdateOnTheGpuTensorByTensor) {
  EXPECT_EQ(refused_at("lohan", "strategy.optimizer.overlap=backward"),
            "strategy.optimizer.overlap");
  EXPECT_EQ(refused_at("lohan", "strategy.optimizer.overlap=none"), "");
}

TEST(Pipeline, RunsOneForwardAndOneBackwardByTurns) {
  const auto passes = [](std::uint64_t stage, std::uint64_t stages, std::uint64_t micro) {
    std::string text;
    for (const StageAction& action : stage_order(
             {description::PipelineSchedule::one_forward_one_backward, stage, stages, micro}))
      if (action.what != StageAction::What::exchange)
        text += (action.what == StageAction::What::forward ? "F" : "B") +
                std::to_string(action.micro) + " ";
    return text;
  };
  EXPECT_EQ(passes(0, 2, 3), "F0 F1 B0 F2 B1 B2 ");
  EXPECT_EQ(passes(1, 2, 3), "F0 B0 F1 B1 F2 B2 ");
  EXPECT_EQ(passes(0, 4, 2), "F0 F1 B0 B1 ");  // fewer micro-batches than stages ahead
  EXPECT_EQ(passes(0, 1, 2), "F0 B0 F1 B1 ");
}

}  // namespace
}  // namespace spillway::strategies
