#include "strategies/layout/job.hpp"
#include "tests/strategies/machine/machines.hpp"

#include <cmath>
#include <numeric>

namespace spillway::strategies {
namespace {

/// Step `i`, counted from 0, takes seconds[i]; those behind the list take the last's time.
Task<> train(Machine* machine, Rank rank, Steps* steps, std::vector<double> seconds, int* count) {
  while (co_await steps->next()) {
    const auto i = static_cast<std::size_t>(*count);
    GpuKernel kernel = kernel_of(1e12 * seconds[std::min(i, seconds.size() - 1)]);
    co_await machine->run(rank, std::span<const GpuKernel>(&kernel, 1));
    if (rank.index == 0) ++*count;
  }
}

struct Taken {
  int steps = 0;
  bool steady = false, too_long = false;
  std::size_t first_measured = 0, recorded = 0;
};

Taken take(std::uint64_t warmup, std::uint64_t measured, const std::vector<double>& seconds,
           std::uint64_t at_least = 0, std::uint64_t period = 1, std::uint64_t staleness = 0,
           double below_s = 0) {
  description::Scenario box = small_box();
  box.parallel.data = 1;
  box.run.warmup_steps = warmup;
  box.run.steps = measured;
  box.strategy.optimizer.staleness = staleness;
  const auto machine = Simulated::make(box);
  machine->want_steps_below(below_s);
  Steps steps(*machine, box);
  if (at_least) steps.at_least_warmup(at_least);
  steps.period(period);
  Taken taken;
  std::vector<Task<>> ranks;
  ranks.push_back(train(machine.get(), rank0, &steps, seconds, &taken.steps));
  machine->run_ranks(std::move(ranks));
  taken.steady = steps.steady();
  taken.first_measured = steps.first_measured();
  taken.recorded = machine->recorder().steps().size();
  taken.too_long = machine->too_long();
  return taken;
}

/// Three measured steps behind a warm-up, of interest where they are below 1 s.
Taken take_below_a_second(const std::vector<double>& seconds, std::uint64_t staleness = 0) {
  return take(1, 3, seconds, 0, 1, staleness, 1);
}

TEST(Steps, SteadyRunTakesWarmUpAndMeasuredSteps) {
  const Taken taken = take(1, 2, {5, 1});
  EXPECT_EQ(taken.steps, 3);
  EXPECT_TRUE(taken.steady);
  EXPECT_EQ(taken.recorded, 4u);  // the set-up is number 0
  EXPECT_EQ(taken.first_measured, 2u);
}

TEST(Steps, NoWarmUpAndNoStepsStillMeasureOne) {
  EXPECT_EQ(take(0, 0, {1}).steps, 1);
  EXPECT_EQ(take(0, 1, {1}).first_measured, 1u);
}

TEST(Steps, UnsteadyRunGoesOnUntilTheLastStepsAgree) {
  // 4, 3, 2 drift; the last two of 4 3 2 2 agree
  const Taken taken = take(1, 2, {4, 3, 2, 2});
  EXPECT_EQ(taken.steps, 4);
  EXPECT_TRUE(taken.steady);
  EXPECT_EQ(taken.first_measured, 3u);
}

TEST(Steps, ThousandthIsSteadyAndMoreIsNot) {
  EXPECT_EQ(take(1, 2, {1, 1, 1.0009}).steps, 3);
  EXPECT_EQ(take(1, 2, {1, 1, 1.0011}).steps, 4);
}

TEST(Steps, DriftEndsAfterTwentySteps) {
  std::vector<double> growing;
  for (int i = 1; i <= 30; ++i) growing.push_back(i);
  const Taken taken = take(1, 2, growing);
  EXPECT_EQ(taken.steps, 20);
  EXPECT_FALSE(taken.steady);
  EXPECT_EQ(taken.first_measured, 11u);  // the mean of the last ten
}

TEST(Steps, BesideUpdatesOfTheirOwnPaceTwoThatAreAlikeAreNotEnough) {
  // rounds of 1 1 4: the first two alike would be 1 s a step, and a step is 2 s
  const std::vector<double> rounds{1, 1, 4, 1, 1, 4, 1, 1, 4, 1, 1, 4, 1, 1, 4};
  const Taken two = take(1, 2, rounds);
  EXPECT_EQ(two.recorded - two.first_measured, 2u);
  const Taken taken = take(1, 2, rounds, 0, 1, description::any_staleness);
  EXPECT_TRUE(taken.steady);
  // four rounds hold ten steps, and all of them must have been seen
  EXPECT_EQ(taken.recorded - taken.first_measured, 12u);
}

/// Rounds of 3.7 steps never repeat: three of them are eleven steps.
TEST(Steps, BesideUpdatesOfTheirOwnPaceTheMeanIsThatOfWholeRounds) {
  std::vector<double> rounds;
  for (int i = 0; i < 30; ++i) rounds.push_back(1 + 0.3 * std::sin(2 * 3.14159265 * i / 3.7));
  const Taken taken = take(1, 2, rounds, 0, 1, description::any_staleness);
  EXPECT_EQ(taken.steps, 20);
  EXPECT_FALSE(taken.steady);
  EXPECT_EQ(taken.recorded - taken.first_measured, 11u);
  const auto mean = [&](int last) {
    return std::accumulate(rounds.begin() + 20 - last, rounds.begin() + 20, 0.0) / last;
  };
  EXPECT_NEAR(mean(11), 1, 0.01);
  EXPECT_GT(std::abs(mean(10) - 1), 0.015);
}

TEST(Steps, ScenarioMayAskForMoreThanTwenty) { EXPECT_EQ(take(5, 20, {1}).steps, 25); }

TEST(Steps, SystemMayAskForMoreWarmUp) {
  EXPECT_EQ(take(1, 2, {1}, 4).steps, 6);
  EXPECT_EQ(take(5, 2, {1}, 4).steps, 7);
}

// ---- Steps that repeat every other one

Taken take_pairs(std::uint64_t warmup, std::uint64_t measured, const std::vector<double>& seconds) {
  return take(warmup, measured, seconds, 0, 2);
}

TEST(Steps, APeriodIsMeasuredWholeAndSeenTwice) {
  EXPECT_EQ(take_pairs(1, 1, {1}).steps, 4);  // two by two; the set-up is none of them
  EXPECT_EQ(take_pairs(1, 1, {1}).first_measured, 3u);
  EXPECT_EQ(take_pairs(1, 2, {1}).steps, 4);
  EXPECT_EQ(take_pairs(1, 3, {1}).steps, 5);  // 1 and 4
  EXPECT_EQ(take_pairs(1, 3, {1}).first_measured, 2u);
  EXPECT_EQ(take(1, 4, {1}, 0, 3).steps, 7);  // 1 and 6
}

TEST(Steps, EachIsComparedWithItsFellowOfThePeriodBefore) {
  EXPECT_EQ(take_pairs(2, 2, {1, 2, 1, 2}).steps, 4);
  // 5 and 1 differ; of 5 2 1 2 1 the last two are like the two before
  const Taken taken = take_pairs(2, 2, {5, 2, 1, 2, 1, 2});
  EXPECT_EQ(taken.steps, 5);
  EXPECT_EQ(taken.first_measured, 4u);
  // 9 2 5 2 1 2 1: the last four
  const Taken later = take_pairs(1, 4, {9, 2, 5, 2, 1, 2, 1, 2, 1});
  EXPECT_TRUE(later.steady);
  EXPECT_EQ(later.steps, 7);
  EXPECT_EQ(later.first_measured, 4u);
}

/// 1, 2, ... `period` seconds, again and again.
Taken take_cycle(int period, std::uint64_t by_design = 1) {
  std::vector<double> seconds;
  for (int i = 0; i < 40; ++i) seconds.push_back(1 + i % period);
  return take(1, 2, seconds, 0, by_design);
}

TEST(Steps, APeriodThatNobodySpokeOfIsFound) {
  const Taken three = take_cycle(3);
  EXPECT_TRUE(three.steady);
  EXPECT_EQ(three.steps, 6);
  EXPECT_EQ(three.first_measured, 4u);  // two are asked for, three measured
  EXPECT_EQ(take_cycle(9).steps, 18);
  EXPECT_TRUE(take_cycle(9).steady);
  EXPECT_FALSE(take_cycle(10).steady);    // no more than nine are tried
  EXPECT_EQ(take_cycle(3, 2).steps, 12);  // with two by design it takes six
}

Task<> count_steps(Machine* machine, Steps* steps, Rank rank, std::vector<int>* log) {
  while (co_await steps->next()) {
    GpuKernel kernel = kernel_of(rank.index == 0 ? 1e12 : 3e12);
    co_await machine->run(rank, std::span<const GpuKernel>(&kernel, 1));
    log->push_back(static_cast<int>(rank.index));
  }
}

TEST(Steps, RanksBeginEachStepTogether) {
  description::Scenario box = small_box();
  box.run.steps = 2;
  const auto machine = Simulated::make(box);
  Steps steps(*machine, box);
  std::vector<int> log;
  std::vector<Task<>> ranks;
  for (const Rank rank : {rank0, rank1})
    ranks.push_back(count_steps(machine.get(), &steps, rank, &log));
  machine->run_ranks(std::move(ranks));
  EXPECT_EQ(log, (std::vector{0, 1, 0, 1, 0, 1}));
  EXPECT_DOUBLE_EQ(machine->recorder().steps().back().seconds(), 3);
}

TEST(Steps, TwoThatAreAlikeAndTooLongEndARunOfShorterOnes) {
  const Taken long_ones = take_below_a_second({1.1});
  EXPECT_TRUE(long_ones.too_long);
  EXPECT_EQ(long_ones.recorded, 3u);  // set-up, warm-up and one that is alike
  const Taken settles = take_below_a_second({1.5, 1.2, 0.9});
  EXPECT_FALSE(settles.too_long);
  EXPECT_EQ(settles.recorded, 6u);  // three alike
  // within what steps may differ by it may be below still
  EXPECT_FALSE(take_below_a_second({1.001}).too_long);
  EXPECT_FALSE(take_below_a_second({1}).too_long);
  EXPECT_FALSE(take(1, 3, {1.1}).too_long) << "nobody said what is too long";
}

TEST(Steps, OneTwiceTooLongEndsARunWhileItIsUnderWay) {
  const Taken first = take_below_a_second({2.1});
  EXPECT_TRUE(first.too_long);
  EXPECT_EQ(first.recorded, 1u);
  EXPECT_EQ(take_below_a_second({0.5, 3}).recorded, 2u);
  EXPECT_FALSE(take_below_a_second({1.9, 0.9}).too_long);
}

TEST(Steps, OfUpdatesThatNoStepWaitsForAlikeOnesSayNothing) {
  EXPECT_FALSE(take_below_a_second({1.1}, description::any_staleness).too_long);
}

}  // namespace
}  // namespace spillway::strategies
