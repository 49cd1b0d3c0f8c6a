#include "strategies/layout/job.hpp"
#include "strategies/parts/stage_links.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// Whole runs of interleaved stages and of split backwards.
namespace spillway::strategies::stage_schedules_test {
namespace {

using ::testing::HasSubstr;

/// Eight blocks on GPUs so slow that hand-overs take next to nothing, with so small a vocabulary
/// that the ends do.
Overrides even(std::uint64_t count, std::uint64_t micro_batches, const Overrides& more = {}) {
  Overrides all{"model.num_hidden_layers=8", "model.vocab_size=64",
                "machine.gpu.compute.fp16=0.2 TFLOPS", "parallel.pipeline=" + std::to_string(count),
                "training.gradient_accumulation=" + std::to_string(micro_batches)};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

description::Scenario resident(std::uint64_t count, std::uint64_t micro_batches,
                               const Overrides& more = {}) {
  return small_model("llama", "resident", even(count, micro_batches, more));
}

const Overrides interleaved{"parallel.schedule=interleaved"};
const Overrides zero_bubble{"parallel.schedule=zero_bubble"};
constexpr std::uint64_t hidden_bytes = 2 * 64 * 1024 * 2;  // samples x tokens x width x 2 B

/// Seconds of a step beyond the work of its micro-batches, in the time of one micro-batch's passes
/// on one stage; the update is short.
double bubble(std::uint64_t count, const Overrides& schedule) {
  const auto step_s = [&](std::uint64_t micro_batches) {
    const result::Result run = simulate(resident(count, micro_batches, schedule));
    EXPECT_TRUE(run.feasible());
    return run.step_time_s;
  };
  const double few = step_s(2 * count), many = step_s(4 * count);
  const double t = (many - few) / static_cast<double>(2 * count);
  return few / t - static_cast<double>(2 * count);
}

TEST(InterleavedStages, IdleSoManyTimesLessAsTheyHavePieces) {
  // (p - 1) t / v
  EXPECT_NEAR(bubble(4, {}), 3, 0.1);
  EXPECT_NEAR(bubble(4, interleaved), 3.0 / 2, 0.1);
  EXPECT_NEAR(bubble(2, interleaved), 1.0 / 2, 0.1);
  EXPECT_NEAR(bubble(2, {"parallel.schedule=interleaved", "parallel.virtual_stages=4"}), 1.0 / 4,
              0.1);
}

TEST(InterleavedStages, HandOverAtEachEndOfAPiece) {
  for (const std::uint64_t pieces : {2u, 4u}) {
    const description::Scenario scenario = resident(
        2, 4,
        {"parallel.schedule=interleaved", "parallel.virtual_stages=" + std::to_string(pieces)});
    // four micro-batches, both ways, through 2 v - 1 ends
    const std::uint64_t bytes = 4 * 2 * (2 * pieces - 1) * hidden_bytes;
    EXPECT_EQ(count(scenario).result.io.network, bytes);
    EXPECT_EQ(simulate(scenario).io.network, bytes);
  }
}

std::uint64_t gpu_peak(const description::Scenario& scenario, std::uint32_t rank) {
  CountingMachine machine(scenario);
  EXPECT_TRUE(run(machine, decided_as_written(scenario), "counting").feasible());
  return machine.ledger().peak_bytes(rank);
}

std::uint64_t held(const LayerPlans& plans, models::Span layers) {
  std::uint64_t bytes = 0;
  for (std::uint32_t layer = layers.first; layer < layers.last; ++layer)
    for (const SavedTensor& saved : plans.layers[layer].saved)
      if (!saved.made_in_backward) bytes += saved.bytes;
  return bytes;
}

TEST(InterleavedStages, HoldPiecesAsTheirWarmUpCounts) {
  // stage 0 of 2, two pieces of two blocks each: 2 + 2 forwards of a piece ahead and one more, so
  // that of five pieces what backward needs is there, where 1F1B has two stages, of four pieces
  const auto saved_of = [](const Overrides& schedule) {
    const Decision decision = decided_as_written(resident(2, 8, schedule));
    const Job job(decision, std::size_t{0});
    return held(job.plans, job.plans.pieces.front().layers);
  };
  const std::uint64_t piece = saved_of(interleaved), stage = saved_of({});
  // the embedding, which saves nothing, is the first piece's
  EXPECT_EQ(2 * piece, stage);
  const std::uint64_t more = gpu_peak(resident(2, 8, interleaved), 0) - gpu_peak(resident(2, 8), 0);
  // beside it hidden states between blocks, and inputs that are offered a pass ahead
  EXPECT_GE(more, piece);
  EXPECT_LE(more, piece + 6 * hidden_bytes);
  EXPECT_EQ(gpu_peak(resident(2, 12, interleaved), 0), gpu_peak(resident(2, 8, interleaved), 0));
}

TEST(InterleavedStages, AskForWhatDividesAndForBlocksThatFollowEachOther) {
  const auto refusal = [](const std::string& model, const std::string& system,
                          const Overrides& overrides) {
    try {
      small_model(model, system, overrides);
    } catch (const description::ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("llama", "resident", even(4, 6, interleaved)),
              HasSubstr("6 micro-batches, which 4 stages do not divide"));
  EXPECT_THAT(refusal("llama", "resident",
                      even(4, 8, {"parallel.schedule=interleaved", "parallel.virtual_stages=3"})),
              HasSubstr("3 pieces on each of 4 stages do not divide the 8 blocks"));
  EXPECT_THAT(refusal("t5", "resident",
                      {"parallel.pipeline=2", "training.gradient_accumulation=2",
                       "parallel.schedule=interleaved"}),
              HasSubstr("read what lies further back"));
  EXPECT_THAT(refusal("llama", "teraio", even(2, 4, interleaved)), HasSubstr("plans whole steps"));
  EXPECT_THAT(refusal("llama", "resident",
                      even(2, 4, {"parallel.schedule=interleaved", "parallel.pipeline_cut=flops"})),
              HasSubstr("equal numbers of blocks"));
  EXPECT_THAT(refusal("llama", "resident",
                      even(2, 4,
                           {"parallel.schedule=zero_bubble",
                            "strategy.activations.policy=checkpoint_gpu"})),
              HasSubstr("zero_bubble"));
}

TEST(SplitBackwards, IdleAThirdOfWhatOneForwardOneBackwardDoes) {
  // (p - 1) (F + B - W) with F = B = W: attention, which has no W, is small beside the products
  EXPECT_NEAR(bubble(4, zero_bubble), 3.0 / 3, 0.15);
  EXPECT_NEAR(bubble(2, zero_bubble), 1.0 / 3, 0.1);
}

TEST(SplitBackwards, HoldNoMoreThanTheFirstStageDoesAndTheGradientsOfOneMicroBatch) {
  for (const std::uint64_t stages : {2u, 4u}) {
    const description::Scenario split = resident(stages, 8, zero_bubble);
    const std::uint64_t plain = gpu_peak(resident(stages, 8), 0);
    const Decision decision = decided_as_written(split);
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      const Job job(decision, std::size_t{stage});
      std::uint64_t kept = 0;
      for (const LayerPlan& layer : job.plans.layers)
        for (const SavedTensor& saved : layer.saved)
          if (saved.made_in_backward) kept += saved.bytes;
      EXPECT_GT(kept, 0u);
      // what waits is less than what backward gives up, but for the one whose backward runs; inputs
      // are offered a pass ahead
      EXPECT_LE(gpu_peak(split, stage), plain + kept + 4 * hidden_bytes) << stage;
    }
  }
}

TEST(SplitBackwards, ComputeAsMuchAndCopyTheGradientsThatOthersAddTo) {
  const auto flops = [](const Overrides& schedule) {
    const Prepared prepared = prepare(resident(2, 4, schedule));
    return prepared.program.flops(prepared.program.backward).value();
  };
  EXPECT_EQ(flops(zero_bubble), flops({}));
}

TEST(StageSchedules, RunWithMoreRanksAndWithACache) {
  for (const Overrides& schedule : {interleaved, zero_bubble})
    for (const char* system : {"resident", "ssdtrain"})
      for (const Overrides& more :
           {Overrides{}, Overrides{"parallel.tensor=2", "parallel.data=2", "parallel.zero_stage=1"},
            Overrides{"parallel.tensor=2", "parallel.sequence_parallel=true"}}) {
        const bool splits = schedule == zero_bubble;
        const bool caches = std::string(system) == "ssdtrain" && !splits;
        if (caches && more.size() == 2) continue;  // tokens are shared where all stays
        Overrides all = even(2, 4, schedule);
        all.insert(all.end(), more.begin(), more.end());
        if (splits) all.emplace_back("strategy.activations.policy=keep");
        SCOPED_TRACE(std::string(system) + " " + schedule.front() + " " +
                     std::to_string(more.size()));
        const description::Scenario scenario = small_model("llama", system, all);
        const result::Result run = simulate(scenario);
        ASSERT_TRUE(run.feasible());
        EXPECT_EQ(run.io.network, count(scenario).result.io.network);
      }
}

TEST(StageSchedules, StoreWhatOneForwardOneBackwardStores) {
  const auto written = [](const Overrides& schedule) {
    Overrides all = even(2, 4, schedule);
    all.insert(all.end(),
               {"strategy.activations.min_elements=0", "strategy.activations.swap_bytes=all",
                "strategy.activations.keep_last=none"});
    const result::Result run = simulate(small_model("llama", "ssdtrain", all));
    EXPECT_TRUE(run.feasible());
    return run.io.ssd_write;
  };
  EXPECT_GT(written({}), 0u);
  EXPECT_EQ(written(interleaved), written({}));
}

}  // namespace
}  // namespace spillway::strategies::stage_schedules_test
