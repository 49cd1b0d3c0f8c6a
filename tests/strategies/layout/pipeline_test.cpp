#include "strategies/layout/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

/// Orders of a stage's passes, and how long stages of equal passes idle.
namespace spillway::strategies::pipeline_test {
namespace {

using description::PipelineSchedule;
using What = StageAction::What;

StagePlace interleaved(std::uint64_t stage, std::uint64_t stages, std::uint64_t micro_batches,
                       std::uint64_t pieces) {
  return {PipelineSchedule::interleaved, stage, stages, micro_batches, pieces};
}

StagePlace zero_bubble(std::uint64_t stage, std::uint64_t stages, std::uint64_t micro_batches) {
  return {PipelineSchedule::zero_bubble, stage, stages, micro_batches};
}

/// "F1.0": the forward of micro-batch 1, piece 0.
std::string passes(const StagePlace& at) {
  std::string text;
  for (const StageAction& action : stage_order(at)) {
    if (!action.is_pass()) continue;
    text += action.what == What::forward ? "F" : action.what == What::backward ? "B" : "W";
    text += std::to_string(action.micro);
    if (at.pieces > 1) text += "." + std::to_string(action.piece);
    text += " ";
  }
  return text;
}

/// Seconds of each kind of pass, over a piece.
struct PassTimes {
  double forward, backward, weights = 0;
};

/// Seconds of a step whose hand-overs take none: a pass begins when the one before it on its stage
/// has ended and what it needs is there. 0: stages wait for each other.
double step_seconds(StagePlace at, PassTimes times) {
  std::vector<std::vector<StageAction>> orders;
  for (at.stage = 0; at.stage < at.stages; ++at.stage) orders.push_back(stage_order(at));
  const std::uint64_t last = at.stages * at.pieces - 1;
  std::map<std::tuple<What, std::uint64_t, std::uint64_t>, double> ended;  // by place in the model
  std::vector<std::size_t> next(at.stages, 0);
  std::vector<double> now(at.stages, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint64_t stage = 0; stage < at.stages; ++stage)
      for (; next[stage] < orders[stage].size(); ++next[stage], moved = true) {
        const StageAction& action = orders[stage][next[stage]];
        if (!action.is_pass()) continue;
        const std::uint64_t place = action.piece * at.stages + stage;
        double ready = 0;
        if (action.what == What::forward && place > 0) {
          if (!ended.contains({What::forward, place - 1, action.micro})) break;
          ready = ended[{What::forward, place - 1, action.micro}];
        }
        if (action.what == What::backward && place < last) {
          if (!ended.contains({What::backward, place + 1, action.micro})) break;
          ready = ended[{What::backward, place + 1, action.micro}];
        }
        const double takes = action.what == What::forward    ? times.forward
                             : action.what == What::backward ? times.backward
                                                             : times.weights;
        now[stage] = std::max(now[stage], ready) + takes;
        ended[{action.what, place, action.micro}] = now[stage];
      }
  }
  for (std::uint64_t stage = 0; stage < at.stages; ++stage)
    if (next[stage] < orders[stage].size()) return 0;
  return *std::max_element(now.begin(), now.end());
}

TEST(Pipeline, InterleavedStagesTakePiecesInTurns) {
  // groups of two micro-batches, of piece 0 and then of piece 1; 2 (2 - 1 - i) + 2 forwards ahead
  EXPECT_EQ(passes(interleaved(0, 2, 4, 2)),
            "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0 ");
  EXPECT_EQ(passes(interleaved(1, 2, 4, 2)),
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0 ");
}

TEST(Pipeline, InterleavedStagesWarmUpAsInMegatron) {
  // num_warmup_microbatches = min(2 (p - i - 1) + (v - 1) p, m v)
  EXPECT_EQ(forwards_ahead(interleaved(0, 4, 8, 2)), 10u);
  EXPECT_EQ(forwards_ahead(interleaved(3, 4, 8, 2)), 4u);
  EXPECT_EQ(forwards_ahead(interleaved(0, 4, 4, 2)), 8u);  // all
  EXPECT_EQ(forwards_ahead(interleaved(1, 8, 16, 3)), 28u);
  for (const std::uint64_t stage : {0u, 1u, 2u, 3u}) {
    std::uint64_t forwards = 0;
    for (const StageAction& action : stage_order(interleaved(stage, 4, 12, 3))) {
      if (action.what == What::backward) break;
      forwards += action.what == What::forward;
    }
    EXPECT_EQ(forwards, 2 * (3 - stage) + 2 * 4 + 1) << stage;
  }
}

TEST(Pipeline, InterleavedStagesIdleSoManyTimesLessAsTheyHavePieces) {
  // bubble / work = (p - 1) / (m v), with t_f = 1 s, t_b = 2 s of a whole stage
  for (const std::uint64_t p : {2u, 4u, 8u})
    for (const std::uint64_t v : {2u, 3u, 4u})
      for (const std::uint64_t groups : {1u, 2u, 5u}) {
        const std::uint64_t m = groups * p;
        const auto pieces = static_cast<double>(v);
        const double work = 3.0 * static_cast<double>(m);
        const double step = step_seconds(interleaved(0, p, m, v), {1 / pieces, 2 / pieces});
        const double bubble = static_cast<double>(p - 1) / static_cast<double>(m * v);
        EXPECT_NEAR((step - work) / work, bubble, 1e-9) << p << " " << v << " " << m;
      }
}

TEST(Pipeline, OneMicroBatchAtATimeTakesTheTimeOfAllStagesOfEach) {
  for (const std::uint64_t stage : {0u, 1u, 2u}) {
    const StagePlace at{PipelineSchedule::sequential, stage, 3, 4};
    EXPECT_EQ(passes(at), "F0 B0 F1 B1 F2 B2 F3 B3 ");
    EXPECT_EQ(micro_batches_under_way(at), 1u);
  }
  for (const std::uint64_t p : {1u, 2u, 4u})
    EXPECT_NEAR(step_seconds({PipelineSchedule::sequential, 0, p, 5}, {1, 2}),
                3.0 * static_cast<double>(p) * 5, 1e-9);
}

TEST(Pipeline, ZeroBubbleStagesComputeGradientsOfWeightsLater) {
  EXPECT_EQ(passes(zero_bubble(0, 3, 4)), "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3 ");
  EXPECT_EQ(passes(zero_bubble(1, 3, 4)), "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3 ");
  EXPECT_EQ(passes(zero_bubble(2, 3, 4)), "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3 ");
  EXPECT_EQ(passes(zero_bubble(2, 3, 1)), "F0 B0 W0 ");
  EXPECT_EQ(passes(zero_bubble(0, 1, 2)), "F0 B0 F1 B1 ");  // nothing to fill
}

TEST(Pipeline, ZeroBubbleStagesIdleAThirdOfThoseOfOneForwardOneBackward) {
  // 1F1B (p - 1) (F + B + W), ZB-H1 (p - 1) (F + B - W), with F = B = W = 1 s
  for (const std::uint64_t p : {2u, 4u, 8u})
    for (const std::uint64_t m : {p, 2 * p, 5 * p}) {
      const double work = 3.0 * static_cast<double>(m);
      const StagePlace plain{PipelineSchedule::one_forward_one_backward, 0, p, m};
      EXPECT_NEAR(step_seconds(plain, {1, 2}) - work, 3.0 * static_cast<double>(p - 1), 1e-9);
      EXPECT_NEAR(step_seconds(zero_bubble(0, p, m), {1, 1, 1}) - work, static_cast<double>(p - 1),
                  1e-9);
    }
}

TEST(Pipeline, NoStageHoldsMoreMicroBatchesThanTheFirstOfOneForwardOneBackward) {
  const StagePlace plain{PipelineSchedule::one_forward_one_backward, 0, 4, 12};
  EXPECT_EQ(micro_batches_under_way(plain), 4u);
  for (const std::uint64_t stage : {0u, 1u, 2u, 3u}) {
    std::int64_t held = 0, most = 0;
    for (const StageAction& action : stage_order(zero_bubble(stage, 4, 12))) {
      held += action.what == What::forward;
      most = std::max(most, held);
      held -= action.what == What::weights;
    }
    EXPECT_EQ(most, 4) << stage;
    // a place for what the next forward reads is there while the last of them are under way
    EXPECT_LE(micro_batches_under_way(zero_bubble(stage, 4, 12)), 5u) << stage;
  }
  EXPECT_EQ(micro_batches_under_way(interleaved(0, 4, 12, 2)), 8u);
}

TEST(Pipeline, OffersEachInputAPassAheadAndSendsEachOutput) {
  for (const StagePlace& at : {interleaved(1, 4, 8, 2), zero_bubble(1, 4, 8)}) {
    std::map<What, std::uint64_t> count;
    for (const StageAction& action : stage_order(at)) ++count[action.what];
    const std::uint64_t all = 8 * at.pieces;
    EXPECT_EQ(count[What::forward], all);
    EXPECT_EQ(count[What::offer], 2 * all);
    EXPECT_EQ(count[What::arrival], 2 * all);
    EXPECT_EQ(count[What::send], 2 * all);
  }
}

}  // namespace
}  // namespace spillway::strategies::pipeline_test
