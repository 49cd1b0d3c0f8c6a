#include "strategies/decide/automatic.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies::colossal_gemini_test {
namespace {

using ::testing::HasSubstr;

description::Scenario small(const Overrides& more = {}) {
  Overrides all{"parallel.data=1", "run.steps=1", "strategy.weights.chunk=4e6 params",
                "strategy.weights.chunk_cache=0 B"};
  all.insert(all.end(), more.begin(), more.end());
  return small_model("llama", "colossal_gemini", all);
}

description::Scenario lohan_server(const std::string& system, const Overrides& more = {}) {
  Overrides all{R"(strategy={"system":")" + system + "\"}"};
  all.insert(all.end(), more.begin(), more.end());
  return example("lohan_13b_batch32", all);
}

double parameters(const description::Scenario& scenario) {
  double sum = 0;
  for (const models::WeightTensor& weight : model_of(scenario).weights)
    sum += static_cast<double>(weight.parameters.value());
  return sum;
}

TEST(ColossalGemini, MovesFourBytesUpAndTwoDownAndTwelveEachWayOfStates) {
  const description::Scenario scenario = small();
  const double p = parameters(scenario);
  for (const result::Result& run : {simulate(scenario), count(scenario).result}) {
    ASSERT_TRUE(run.feasible());
    const auto near = [&](std::uint64_t bytes, double each) {
      EXPECT_NEAR(static_cast<double>(bytes) / (each * p), 1, 0.02) << each;  // padding
    };
    // the head, and what shares its chunk, is still there when backward begins
    EXPECT_LT(static_cast<double>(run.io.h2d), 4.02 * p);
    EXPECT_GT(static_cast<double>(run.io.h2d), 3 * p);
    near(run.io.d2h, 2);
    near(run.io.ssd_read, 12);
    near(run.io.ssd_write, 12);
    near(run.phase_bytes.at("update").ssd_read, 12);
  }
}

TEST(ColossalGemini, BringsEachChunkOnceWhereTheGpuHoldsAll) {
  const description::Scenario scenario = small({"strategy.weights.chunk_cache=1 TiB"});
  const result::Result run = simulate(scenario);
  EXPECT_NEAR(static_cast<double>(run.io.h2d) / (2 * parameters(scenario)), 1, 0.02);
  EXPECT_GT(run.gpu.total, simulate(small()).gpu.total);
}

TEST(ColossalGemini, HasNoGradientsOfItsOwnInHostMemory) {
  const description::Scenario scenario = small();
  const result::Result one = simulate(scenario);
  EXPECT_EQ(at_peak(one.host, "gradient_flat_buffer"), 0u);
  // several micro-batches need weights and gradients at once
  const result::Result two = simulate(small({"training.gradient_accumulation=2"}));
  EXPECT_NEAR(
      static_cast<double>(at_peak(two.host, "gradient_flat_buffer")) / (2 * parameters(scenario)),
      1, 0.02);
}

TEST(ColossalGemini, HoldsSixBytesAParameterInHostMemoryWhenItStarts) {
  const description::Scenario scenario = small();
  const result::Result run = simulate(scenario);
  EXPECT_EQ(run.host.phase, "init");
  const double p = parameters(scenario);
  EXPECT_NEAR(static_cast<double>(at_peak(run.host, "init_copy")) / (4 * p), 1, 0.02);
  EXPECT_GE(static_cast<double>(at_peak(run.host, "parameter_flat_buffer")), 2 * p);
  EXPECT_LT(static_cast<double>(at_peak(run.host, "parameter_flat_buffer")), 2.6 * p);  // waste
}

TEST(ColossalGemini, FillsTheGpuWithIdleChunksAndNoFurther) {
  const description::Scenario written = lohan_server("colossal_gemini");
  const description::Scenario scenario =
      resolve_automatic(written, prepare(written), counting_probe());
  const result::Result run = simulate(scenario);
  ASSERT_TRUE(run.feasible());
  EXPECT_LE(run.gpu.total, 24ull << 30);
  const result::Result without =
      simulate(lohan_server("colossal_gemini", {"strategy.weights.chunk_cache=0 B"}));
  EXPECT_LT(run.io.h2d, without.io.h2d);
  EXPECT_EQ(run.io.ssd_write, without.io.ssd_write);
}

TEST(ColossalGemini, KeepsTheGpuIdleForMostOfAStep) {
  // LoHan, section III-B1: Colossal-AI's GPU is busy for 12 %, and LoHan many times faster
  const result::Result run = simulate(lohan_server("colossal_gemini"));
  const result::Result lohan = simulate(lohan_server("lohan"));
  EXPECT_LT(run.utilization.gpu, 0.5);
  EXPECT_GT(run.step_time_s, 2 * lohan.step_time_s);
  EXPECT_GT(run.update_s, 0.5 * run.step_time_s);
}

TEST(ColossalGemini, LimitsBatchesByCheckpointsAndModelsByHostMemory) {
  // 2 s b h L: 12.5 GiB of 13B at batch 32
  EXPECT_FALSE(simulate(lohan_server("colossal_gemini", {"training.micro_batch=96"})).feasible());
  const result::Result large =
      simulate(lohan_server("colossal_gemini", {"model=lohan-175b", "training.micro_batch=1"}));
  ASSERT_FALSE(large.feasible());  // 6 B x 175e9 = 1.05 TB
  EXPECT_EQ(large.infeasible->tier, "host");
}

TEST(ColossalGemini, RefusesWhatItsChunksContradict) {
  const auto refusal = [](const Overrides& overrides) {
    try {
      small(overrides);
    } catch (const description::ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({"strategy.weights.home=ssd"}), HasSubstr("weights.chunk packs weights"));
  EXPECT_THAT(refusal({"strategy.overflow_check=fused"}), HasSubstr("no step left to skip"));
  EXPECT_THAT(refusal({"strategy.weights.persistence_threshold=1e5 params"}),
              HasSubstr("persistence_threshold"));
}

}  // namespace
}  // namespace spillway::strategies::colossal_gemini_test
