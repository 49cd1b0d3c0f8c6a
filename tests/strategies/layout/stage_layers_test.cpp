#include "strategies/layout/stage_layers.hpp"

#include "strategies/layout/prepared.hpp"
#include "strategies/layout/timed_cut.hpp"
#include "strategies/machine/kernel_time.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

/// The first layer of each stage, then the number of layers.
std::vector<std::uint32_t> bounds(const std::vector<StageLayers>& split) {
  std::vector<std::uint32_t> all;
  for (const StageLayers& stage : split) all.push_back(stage.first);
  all.push_back(split.back().last);
  return all;
}

const std::vector<bool> five_blocks{false, true, true, true, true, true, false};

TEST(StageLayers, OfEqualNumbersLeaveTheEndsWithTheirNeighbours) {
  // embedding, five blocks, head on two stages: blocks 1-2 and 3-5
  EXPECT_THAT(bounds(split_evenly(five_blocks, 2)), ElementsAre(0, 3, 7));
}

TEST(StageLayers, OfEqualWorkWeighTheHead) {
  // five blocks of 10 and a head of 25: 40 | 10 + 25 is the best of two
  EXPECT_THAT(bounds(split_by_work(five_blocks, {0, 10, 10, 10, 10, 10, 25}, 2)),
              ElementsAre(0, 5, 7));
  // without it: 30 | 20, the first stage has the longer half
  EXPECT_THAT(bounds(split_by_work(five_blocks, {0, 10, 10, 10, 10, 10, 0}, 2)),
              ElementsAre(0, 4, 7));
}

TEST(StageLayers, LeaveNoStageEmptyWhileBlocksAreThere) {
  // the head alone sets the limit of 100, which one stage keeps with all blocks but the last
  EXPECT_THAT(bounds(split_by_work(five_blocks, {0, 1, 1, 1, 1, 1, 100}, 5)),
              ElementsAre(0, 2, 3, 4, 5, 7));
  EXPECT_THAT(bounds(split_by_work({true, true}, {1, 1}, 3)), ElementsAre(0, 1, 2, 2));
}

/// Eight blocks on two stages and a head of as many FLOPs as two blocks, on a GPU whose kernels are
/// charged for their traffic.
description::Scenario with_large_head(const Overrides& more) {
  Overrides overrides = {"model.num_hidden_layers=8", "model.vocab_size=32768",
                         "training.loss=plain",       "parallel.pipeline=2",
                         "training.micro_batch=16",   "training.gradient_accumulation=4",
                         "machine.gpu.memory=64 GiB", "run.steps=1",
                         "machine.gpu.launch=0 s",    "machine.gpu.elementwise=separate"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_model("llama", "resident", overrides);
}

/// The number of blocks of the first stage.
std::uint32_t blocks_before_cut(const Overrides& more) {
  const description::Scenario scenario = with_large_head(more);
  const Prepared prepared = prepare(scenario);
  return stage_layers(prepared.model, prepared.program, scenario)[1].first - 1;
}

/// The seconds of the longer of two stages, the first of `blocks`.
double longer_stage(const description::Scenario& scenario, std::uint32_t blocks) {
  const Prepared prepared = prepare(scenario);
  const std::vector<double> seconds =
      TimedCut(prepared.model, prepared.program, scenario).layer_seconds(scenario).value();
  const auto cut = seconds.begin() + 1 + blocks;
  return std::max(std::accumulate(seconds.begin(), cut, 0.0),
                  std::accumulate(cut, seconds.end(), 0.0));
}

const std::string slow_memory = "machine.gpu.memory_rate=100 GB/s";
const std::string fast_memory = "machine.gpu.memory_rate=200 TB/s";
const std::string by_flops = "parallel.pipeline_cut=flops";

TEST(StagesOfEqualTime, AreThoseOfEqualFlopsWhereProductsTakeAllOfIt) {
  // head and blocks as 2 to 1: (8 + 2) / 2 = 5 blocks
  EXPECT_EQ(blocks_before_cut({by_flops}), 5u);
  EXPECT_EQ(blocks_before_cut({fast_memory}), 5u);
  EXPECT_EQ(blocks_before_cut({fast_memory, "parallel.pipeline_cut=layers"}), 4u);
}

TEST(StagesOfEqualTime, FollowTheTrafficOfAHeadThatIsBoundByIt) {
  // the logits of 1024 tokens and 32768 words, in fp32 and in fp16, back and forth
  EXPECT_EQ(blocks_before_cut({by_flops, slow_memory}), 5u);
  const std::uint32_t cut = blocks_before_cut({slow_memory});
  EXPECT_NE(cut, 5u);
  const description::Scenario scenario = with_large_head({slow_memory});
  for (std::uint32_t blocks = 1; blocks < 8; ++blocks)
    EXPECT_LE(longer_stage(scenario, cut), longer_stage(scenario, blocks)) << blocks;
  EXPECT_LT(simulate(scenario).step_time_s,
            simulate(with_large_head({slow_memory, by_flops})).step_time_s);
}

TEST(StagesOfEqualTime, FollowTheRatesOfProductsByTheirShape) {
  // harmonic means of two sides: 1024 and 4096 of a block's at most 1638, of the head's 1986
  const std::string wide_are_slow = R"(machine.gpu.products={"64x1700": 1, "64x1900": 0.2})";
  EXPECT_GT(blocks_before_cut({fast_memory, wide_are_slow}), 5u);
}

TEST(StagesOfEqualTime, CountWhatBlocksRunAgain) {
  // a head of 3.3 blocks: 6 or 2 + 3.3, which is the better of 5 or 3 + 3.3; with forward of
  // blocks once more 5 x 4 / 3 or 3 x 4 / 3 + 3.3, the better of 8 or 2 x 4 / 3 + 3.3
  const std::string recompute = "strategy.activations.policy=checkpoint_gpu";
  const std::string larger = "model.vocab_size=50944";
  EXPECT_EQ(blocks_before_cut({fast_memory, larger}), 6u);
  EXPECT_EQ(blocks_before_cut({fast_memory, larger, by_flops, recompute}), 6u);
  EXPECT_EQ(blocks_before_cut({fast_memory, larger, recompute}), 5u);
  const auto seconds_of = [&](const Overrides& more) {
    const description::Scenario scenario = with_large_head(more);
    const Prepared prepared = prepare(scenario);
    return TimedCut(prepared.model, prepared.program, scenario).layer_seconds(scenario).value();
  };
  const std::vector<double> kept = seconds_of({fast_memory}),
                            again = seconds_of({fast_memory, recompute});
  EXPECT_NEAR(again[1] / kept[1], 4.0 / 3, 0.01);
  EXPECT_NEAR(again.back(), kept.back(), 1e-3 * kept.back());
}

TEST(StagesOfEqualTime, AreThoseOfEqualFlopsWhereAMachineHasNoRates) {
  description::Scenario scenario = with_large_head({slow_memory});
  const Prepared timed = prepare(scenario);
  scenario.machine.gpu.memory_rate = {};
  EXPECT_FALSE(TimedCut(timed.model, timed.program, scenario).layer_seconds(scenario));
  EXPECT_EQ(stage_layers(timed.model, timed.program, scenario)[1].first, 6u);
  scenario.machine.gpu.memory_rate = description::BytesPerSecond(1e11);
  scenario.machine.gpu.compute.clear();
  EXPECT_FALSE(TimedCut(timed.model, timed.program, scenario).layer_seconds(scenario));
}

TEST(StagesOfEqualTime, AreThoseOfAnyOtherMachineWithoutItsProgram) {
  for (const char* policy : {"", "strategy.activations.policy=checkpoint_gpu"}) {
    Overrides more = {slow_memory};
    if (*policy) more.emplace_back(policy);
    const description::Scenario slow = with_large_head(more);
    more.front() = fast_memory;
    const description::Scenario fast = with_large_head(more);
    const Prepared of_slow = prepare(slow), of_fast = prepare(fast);
    const TimedCut cut(of_slow.model, of_slow.program, slow);
    EXPECT_EQ(cut.stages(slow), stage_layers(of_slow.model, of_slow.program, slow)) << policy;
    EXPECT_EQ(cut.stages(fast), stage_layers(of_fast.model, of_fast.program, fast)) << policy;
    EXPECT_NE(cut.stages(slow), cut.stages(fast)) << policy;
  }
}

TEST(KernelRates, AreThoseOfTheGpuThatKernelsOfPassesGoAt) {
  const auto gpu = [](const Overrides& more) { return with_large_head(more).machine.gpu; };
  const auto differ = [&](const Overrides& more) {
    return !same_kernel_rates(gpu({slow_memory}), gpu(more));
  };
  EXPECT_TRUE(differ({fast_memory}));
  for (const char* other : {"machine.gpu.launch=5 us", "machine.gpu.elementwise=included",
                            "machine.gpu.matrix_half=100", "machine.gpu.reduction=50 GB/s",
                            "machine.gpu.permute=50 GB/s", "machine.gpu.compute.fp16=1 TFLOPS",
                            "machine.gpu.attention.fp16=1 TFLOPS",
                            R"(machine.gpu.products={"64x1700": 1, "64x1900": 0.2})"})
    EXPECT_TRUE(differ({slow_memory, other})) << other;
  EXPECT_FALSE(differ({slow_memory, "machine.gpu.memory=60 GiB", "machine.host.memory=1 TiB"}));
}

}  // namespace
}  // namespace spillway::strategies
