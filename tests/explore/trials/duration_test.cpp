#include "explore/trials/duration.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace spillway::explore::duration_test {
namespace {

using description::Bytes;
using description::Scenario;

Scenario long_one() {
  Scenario scenario;
  scenario.model = {{"num_hidden_layers", 1000}};
  scenario.strategy.system = "teraio";
  scenario.machine.gpu.memory = Bytes(24ull << 30);
  scenario.machine.gpu.context = scenario.machine.gpu.reserve = Bytes(1ull << 29);
  scenario.machine.host.memory = Bytes(64ull << 30);
  scenario.machine.host.reserve = Bytes(4ull << 30);
  scenario.training.gradient_accumulation = 1;
  scenario.run.warmup_steps = 1;
  scenario.run.steps = 1;
  return scenario;
}

/// What a cost of passes through blocks and of steps is taken for, and what was asked for that.
Duration of(const Scenario& scenario, const std::function<double(double, double)>& cost,
            double* spent_s = nullptr) {
  double spent = 0;
  const auto found = duration_of(scenario, [&](const Scenario& part) -> std::optional<double> {
    const RunSize size = size_of(part);
    const double seconds =
        cost(static_cast<double>(size.passes()), static_cast<double>(size.steps));
    spent += seconds;
    return seconds;
  });
  if (spent_s) *spent_s = spent;
  EXPECT_TRUE(found.has_value());
  return found.value_or(Duration{});
}

TEST(Duration, GoesOnAsTheLastTwoPartsGrew) {
  double spent = 0;
  const auto square = [](double passes, double) { return 1e-4 * passes * passes; };
  // 1000 blocks: 100 s, from parts of 16 to 128 blocks, of which the last takes 1.6 s
  EXPECT_NEAR(of(long_one(), square, &spent).seconds, 100, 1e-6);
  EXPECT_LT(spent, 2.5);
  const auto line = [](double passes, double) { return 0.1 + 0.01 * passes; };
  EXPECT_NEAR(of(long_one(), line).seconds, 10.1, 1e-6) << "what is paid once stays";
}

TEST(Duration, CountsStepsAndMicroBatches) {
  Scenario scenario = long_one();
  scenario.model["num_hidden_layers"] = 4;
  scenario.training.gradient_accumulation = 100'000;
  scenario.run.steps = 999;
  // 400,000 passes in each of 1,000 steps, a microsecond each: 400 s
  const Duration found =
      of(scenario, [](double passes, double steps) { return 1e-6 * passes * steps; });
  EXPECT_NEAR(found.seconds, 400, 1);
  EXPECT_EQ(found.whole.passes(), 400'000u);
  EXPECT_EQ(duration_words(found),
            "about 7 min for 1000 steps of 100000 micro-batches through 4 blocks, as 2 steps of "
            "100000 micro-batches through 4 blocks took");
}

TEST(Duration, MakesMemoryAsMuchSmallerAsTheModel) {
  // a fourth of the blocks: of 24 GiB without the 1 GiB that is no model's, 5.75 and that 1
  const Scenario part = with_size(long_one(), {250, 1, 2});
  EXPECT_EQ(part.model["num_hidden_layers"], 250);
  EXPECT_EQ(part.machine.gpu.memory, Bytes(27ull << 28));
  EXPECT_EQ(part.machine.host.memory, Bytes(19ull << 30));
}

TEST(Duration, SaysAtLeastWhereThereIsNoTimeForMore) {
  const auto found = duration_of(long_one(), [](const Scenario& part) -> std::optional<double> {
    if (size_of(part).blocks > 16) return std::nullopt;
    return 0.5;
  });
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->at_least);
  EXPECT_NEAR(found->seconds, 0.5 * 1000 / 16, 1e-9);
  EXPECT_FALSE(duration_of(long_one(), [](const Scenario&) { return std::optional<double>(); }));
}

TEST(Duration, LeavesShortOnesAlone) {
  Scenario scenario = long_one();
  EXPECT_TRUE(may_take_long(scenario));
  scenario.strategy.system = "zero_infinity";
  EXPECT_FALSE(may_take_long(scenario)) << "2,000 passes";
  scenario.training.gradient_accumulation = 1'000;
  EXPECT_TRUE(may_take_long(scenario));
}

}  // namespace
}  // namespace spillway::explore::duration_test
