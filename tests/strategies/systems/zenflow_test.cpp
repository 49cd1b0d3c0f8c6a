#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::zenflow_test {
namespace {

description::Scenario small(Overrides more = {}) {
  more.insert(more.begin(), {"training.precision=bf16_mixed", "strategy.pinned=exact",
                             "training.gradient_accumulation=4"});
  return small_model("llama", "zenflow", more);
}

// Of each parameter two sets of moments, the master and its copy of the last update, two fp32
// gradients, and the pinned blocks that a master and a gradient lay in.
TEST(Zenflow, HoldsTwoSetsOfAllThatItsOtherProcessShares) {
  const description::Scenario scenario = small();
  const std::uint64_t parameters = model_of(scenario).parameters.value();
  const result::PeakBytes host = count(scenario).result.host;
  EXPECT_EQ(at_peak(host, "optimizer_states"), 16 * parameters);
  EXPECT_EQ(at_peak(host, "master_weights"), 8 * parameters);
  EXPECT_EQ(at_peak(host, "optimizer_gradient_buffers"), 8 * parameters);
  EXPECT_EQ(at_peak(host, "allocator_cache"), 8 * parameters);
  EXPECT_EQ(at_peak(host, "gradient_accumulation"), 2 * parameters);
}

// 16-bit sums go down after each of four micro-batches, and up before the later three; fp32 ones go
// down once a step, and new weights come up once in 16 bits.
TEST(Zenflow, MovesSumsOfMicroBatchesAndWeightsOnceAStep) {
  const description::Scenario scenario = small();
  const std::uint64_t parameters = model_of(scenario).parameters.value();
  const result::Result run = simulate(scenario);
  EXPECT_EQ(run.io.d2h, (4 * 2 + 4) * parameters);
  EXPECT_EQ(run.io.h2d, (3 * 2 + 2) * parameters);
}

// Moments of 16 bits of the columns, their gradients and a copy: 8 bytes for each number of theirs.
TEST(Zenflow, KeepsColumnsOnTheGpu) {
  const auto states = [](const char* share) {
    return at_peak(count(small({share})).result.gpu, "optimizer_states");
  };
  const models::Model model = model_of(small());
  std::uint64_t selected = 0;
  for (const models::WeightTensor& weight : model.weights) {
    const std::uint64_t columns = weight.shape.back();
    const std::uint64_t chosen = weight.decays() ? columns / 4 : columns;
    selected += description::divide_up(2 * chosen * (weight.parameters.value() / columns),
                                       share_alignment) *
                share_alignment;
  }
  EXPECT_EQ(states("strategy.optimizer.selected_share=0.25"), 2 * selected);
}

// In host memory states take none of the GPU's, and cross its link twice for each of the four
// updates; the weights' columns go and come once, while others write the weights.
TEST(Zenflow, MayKeepTheColumnsStatesInHostMemory) {
  const Overrides away = {"strategy.optimizer.selected_states=host"};
  const Counted here = count(small()), there = count(small(away));
  const std::uint64_t states = at_peak(here.result.gpu, "optimizer_states");
  EXPECT_GT(states, 0u);
  EXPECT_EQ(at_peak(there.result.gpu, "optimizer_states"), 0u);
  EXPECT_EQ(at_peak(there.result.host, "optimizer_states"),
            at_peak(here.result.host, "optimizer_states") + states);
  EXPECT_LT(there.result.gpu.total, here.result.gpu.total);
  const result::Result kept = simulate(small()), moved = simulate(small(away));
  EXPECT_EQ(moved.io.d2h, kept.io.d2h + 4 * states + states / 2);
  EXPECT_EQ(moved.io.h2d, kept.io.h2d + 4 * states + states / 2);
}

// A rank of ZeRO-3 has the columns of its share of each weight; the host has the states and masters
// that ZeRO-2's has, and gets 16-bit gradients after each of four micro-batches.
TEST(Zenflow, UpdatesTheColumnsOfItsShareInZero3) {
  const description::Scenario spread = small({"parallel.data=2", "parallel.zero_stage=3"});
  const Counted whole = count(small({"parallel.data=2"})), shared = count(spread);
  EXPECT_EQ(2 * at_peak(shared.result.gpu, "optimizer_states"),
            at_peak(whole.result.gpu, "optimizer_states"));
  for (const char* held : {"optimizer_states", "master_weights"})
    EXPECT_EQ(at_peak(shared.result.host, held), at_peak(whole.result.host, held)) << held;
  const std::uint64_t gradients = 4 * 2 * model_of(spread).parameters.value();
  const std::uint64_t down = simulate(spread).io.d2h;
  EXPECT_GE(down, gradients);
  EXPECT_LT(down, gradients + gradients / 1000);  // what pads shares
}

// The CPU's update goes on beside the next step, in which the CPU works then; in time it works
// after backward.
TEST(Zenflow, UpdatesBesideTheNextStep) {
  const Overrides in_time = {"strategy.optimizer.staleness=0", "strategy.weights.h2d=pinned"};
  const result::Result late = simulate(small());
  const result::Result waited = simulate(small(in_time));
  EXPECT_GT(late.phase_busy.at("forward").cpu, 0);
  EXPECT_EQ(waited.phase_busy.at("forward").cpu, 0);
}

// In backward of each micro-batch but the last, whose gradients wait for the step's update.
TEST(Zenflow, UpdatesColumnsOnceAMicroBatch) {
  const auto gpu = [](const char* share) {
    return simulate(small({share, "strategy.optimizer.staleness=0", "strategy.weights.h2d=pinned",
                           "strategy.gradients.lands=states"}));
  };
  const result::Result few = gpu("strategy.optimizer.selected_share=0.1");
  const result::Result many = gpu("strategy.optimizer.selected_share=0.5");
  EXPECT_GT(many.phase_busy.at("update").gpu, few.phase_busy.at("update").gpu);
  EXPECT_GT(many.phase_busy.at("backward").gpu, few.phase_busy.at("backward").gpu);
}

}  // namespace
}  // namespace spillway::strategies::zenflow_test
