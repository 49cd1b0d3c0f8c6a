#include "strategies/planner/saved/swap_planner.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>
#include <cmath>
#include <random>

/// LoHan's plan: how many bytes of activations to swap.
namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t giga = 1'000'000'000;

/// Ten items of 1 GB that save 10, 9, ... 1 TFLOP; a GPU of 1 TFLOPS, links and drives as fast as
/// nothing waits for them.
SwapProblem ten() {
  SwapProblem problem;
  problem.forward_flops = 55'000 * giga;
  for (std::uint64_t i = 10; i > 0; --i) problem.items.push_back({giga, i * 1000 * giga, {}});
  problem.host_bytes = 1000 * giga;
  problem.flops_per_s = 1e12;
  problem.down_bytes_per_s = problem.up_bytes_per_s = 1e12;
  problem.read_bytes_per_s = problem.write_bytes_per_s = 1e12;
  problem.adam_per_s = 1e12;
  return problem;
}

TEST(SwapPlanner, TimesAreTheEquations) {
  SwapProblem p = ten();
  p.parameters = 10 * giga;
  p.host_bytes = 3 * giga;
  p.down_bytes_per_s = 0.1e9;  // Eq. 2: 5 GB down in 50 s against 55 s of forward
  p.up_bytes_per_s = 0.2e9;    // Eq. 5: 20 GB of weights and 5 of activations up: 125 s
  p.read_bytes_per_s = 1e9;
  p.write_bytes_per_s = 0.5e9;
  EXPECT_EQ(spilled_bytes(p, 5 * giga), 2 * giga);  // Eq. 3
  EXPECT_EQ(spilled_bytes(p, 2 * giga), 0u);
  // forward: max(55, 50, 20 / 0.2 = 100, 20 / 1 + 2 / 0.5 = 24)
  EXPECT_DOUBLE_EQ(swap_times(p, 5 * giga, 0).forward_s, 100);
  p.up_bytes_per_s = 1e9;
  EXPECT_DOUBLE_EQ(swap_times(p, 5 * giga, 0).forward_s, 55);
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 0).forward_s, 60);
  // backward: max(110 + 7, 20 / 0.1 = 200, 26, (140 + 3) / 1 + 140 / 0.5 = 423)
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 7000 * giga).backward_s, 423);
  p.mixed_efficiency = 0.9;
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 7000 * giga).backward_s, 470);
  p.mixed_efficiency = 2;  // 423 / 2 is less than writes take alone
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 7000 * giga).backward_s, 280);
  p.mixed_efficiency = 0.9;
  p.read_bytes_per_s = p.write_bytes_per_s = 1e12;
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 7000 * giga).backward_s, 200);
  p.down_bytes_per_s = 1e12;
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 7000 * giga).backward_s, 117);
  p.adam_per_s = 0.05e9;  // 10 G parameters in 200 s
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 7000 * giga).backward_s, 200);
  p.ranks = 2;  // of 12 GB 9 are spilled; each link has half of the weights
  EXPECT_EQ(spilled_bytes(p, 6 * giga), 9 * giga);
  p.up_bytes_per_s = 0.05e9;
  EXPECT_DOUBLE_EQ(swap_times(p, 6 * giga, 0).backward_s, (10 + 6) / 0.05);
}

TEST(SwapPlanner, CaseTwoSwapsEverythingWhileTheGpuIsTheLimit) {
  const SwapPlan plan = plan_swap(ten());
  EXPECT_EQ(plan.which_case, 2);
  EXPECT_EQ(plan.bytes, 10 * giga);
  EXPECT_EQ(plan.recompute_flops, 0u);
  EXPECT_DOUBLE_EQ(plan.times.step_s(), 55 + 110);
}

TEST(SwapPlanner, CaseOneSwapsTheLeastWhenEveryByteCosts) {
  SwapProblem problem = ten();
  problem.least_bytes = 2 * giga;
  problem.up_bytes_per_s = problem.down_bytes_per_s = 0.01e9;  // 200 s for what must go already
  const SwapPlan plan = plan_swap(problem);
  EXPECT_EQ(plan.which_case, 1);
  EXPECT_THAT(plan.taken, IsEmpty());
  EXPECT_EQ(plan.bytes, 2 * giga);
  EXPECT_EQ(plan.recompute_flops, 55'000 * giga);
}

TEST(SwapPlanner, CaseThreeStopsWhereALinkTakesOver) {
  SwapProblem problem = ten();
  problem.up_bytes_per_s = 0.0269e9;  // 4 items take 149 s; recomputation 110 + 21 s: one too many
  const SwapPlan plan = plan_swap(problem);
  EXPECT_EQ(plan.which_case, 3);
  EXPECT_THAT(plan.taken, ElementsAre(0, 1, 2));
  EXPECT_DOUBLE_EQ(plan.times.backward_s, 110 + 28);
}

TEST(SwapPlanner, AnItemThatTiesIsNotTaken) {
  SwapProblem problem = ten();
  problem.adam_per_s = 1;
  problem.parameters = 164;  // Adam takes 164 s; recomputing everything took 110 + 55 s
  const SwapPlan plan = plan_swap(problem);
  EXPECT_THAT(plan.taken, ElementsAre(0));  // 164 s: the second would leave it so
  EXPECT_EQ(plan.which_case, 3);
  problem.parameters = 165;
  EXPECT_EQ(plan_swap(problem).which_case, 1);
}

TEST(SwapPlanner, WithoutDrivesItTakesWhatHostMemoryHolds) {
  SwapProblem problem = ten();
  problem.spills = false;
  problem.host_bytes = 4 * giga;
  EXPECT_THAT(plan_swap(problem).taken, ElementsAre(0, 1, 2, 3));  // exactly full
  problem.host_bytes = 4 * giga - 1;
  EXPECT_THAT(plan_swap(problem).taken, ElementsAre(0, 1, 2));
}

TEST(SwapPlanner, OneItemIsTakenWhenTheStepGetsShorter) {
  SwapProblem problem = ten();
  problem.items.resize(1);
  EXPECT_EQ(plan_swap(problem).which_case, 2);
  problem.items.clear();
  EXPECT_EQ(plan_swap(problem).which_case, 1);
}

TEST(SwapPlanner, SpreadsWhatPaysEquallyOverTheModel) {
  SwapProblem problem;
  problem.items.assign(8, {2, 4, {}});  // of eight blocks
  EXPECT_THAT(swap_order(problem, SwapOrder::offloading_benefit),
              ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  problem.items.resize(5);
  EXPECT_THAT(swap_order(problem, SwapOrder::offloading_benefit), ElementsAre(0, 4, 2, 1, 3));
  problem.items.insert(problem.items.begin(), {1, 9, {}});
  EXPECT_THAT(swap_order(problem, SwapOrder::offloading_benefit), ElementsAre(0, 1, 5, 3, 2, 4));
}

TEST(SwapPlanner, WhatDoesNotFitOnTheGpuEndsTheSearch) {
  SwapProblem problem = ten();
  const std::size_t taken = plan_swap(problem).taken.size();
  ASSERT_GT(taken, 3u);
  problem.items[3].fits = false;
  EXPECT_THAT(plan_swap(problem).taken, ElementsAre(0, 1, 2));
  EXPECT_EQ(plan_swap(problem).which_case, 3);
  // a size is taken at its word
  EXPECT_EQ(plan_swap_of(problem, SwapOrder::offloading_benefit, 10 * giga).taken.size(), 10u);
}

TEST(SwapPlanner, GoesByFlopsPerByteAndByTheModelWhereTheyAreEqual) {
  SwapProblem problem;
  problem.items = {{3, 3, {}}, {2, 4, {}}, {9, 0, {}}, {1, 1, {}}, {4, 8, {}}, {5, 0, {}}};
  EXPECT_THAT(swap_order(problem, SwapOrder::offloading_benefit), ElementsAre(1, 4, 0, 3, 2, 5));
  EXPECT_THAT(swap_order(problem, SwapOrder::layer), ElementsAre(0, 1, 2, 3, 4, 5));
  // products of 2^60 and more: exact, where floating point would see a tie
  const std::uint64_t large = std::uint64_t{1} << 60;
  problem.items = {{large, large - 1, {}}, {large, large, {}}};
  EXPECT_THAT(swap_order(problem, SwapOrder::offloading_benefit), ElementsAre(1, 0));
}

TEST(SwapPlanner, ASizeForcesTheNearestPrefix) {
  SwapProblem problem = ten();
  problem.least_bytes = giga;
  const auto count = [&](std::uint64_t bytes) {
    return plan_swap_of(problem, SwapOrder::offloading_benefit, bytes).taken.size();
  };
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(giga), 0u);
  EXPECT_EQ(count(giga + giga / 2), 0u);  // as near to both
  EXPECT_EQ(count(giga + giga / 2 + 1), 1u);
  EXPECT_EQ(count(4 * giga), 3u);
  EXPECT_EQ(count(~std::uint64_t{0}), 10u);
  EXPECT_EQ(plan_swap_of(problem, SwapOrder::layer, 3 * giga).bytes, 3 * giga);
}

// ---- Whatever the model and the machine

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  /// From `least` to `most`, as often in each decade.
  double scale(double least, double most) {
    return least * std::exp(std::uniform_real_distribution(0.0, std::log(most / least))(engine_));
  }
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }

 private:
  std::mt19937_64 engine_;
};

SwapProblem any_problem(std::uint64_t seed) {
  Chance chance(seed);
  SwapProblem problem;
  const std::uint64_t items = chance.below(60);
  std::uint64_t blocks = 0;
  for (std::uint64_t i = 0; i < items; ++i) {
    const auto bytes = static_cast<std::uint64_t>(chance.scale(1e6, 1e10));
    const std::uint64_t flops =
        chance.below(5) ? static_cast<std::uint64_t>(chance.scale(1e10, 1e15)) : 0;
    const std::uint64_t alike = 1 + chance.below(4);  // blocks repeat
    for (std::uint64_t k = 0; k < alike; ++k) problem.items.push_back({bytes, flops, {}});
    blocks += alike * flops;
  }
  problem.forward_flops = blocks + static_cast<std::uint64_t>(chance.scale(1e10, 1e15));
  problem.least_bytes = chance.below(4) ? static_cast<std::uint64_t>(chance.scale(1e6, 1e11)) : 0;
  problem.parameters = static_cast<std::uint64_t>(chance.scale(1e8, 1e12));
  problem.ranks = 1 + chance.below(4);
  problem.host_bytes = chance.below(4) ? static_cast<std::uint64_t>(chance.scale(1e9, 1e12)) : 0;
  problem.flops_per_s = chance.scale(1e12, 1e15);
  problem.down_bytes_per_s = chance.scale(1e9, 1e11);
  problem.up_bytes_per_s = chance.scale(1e9, 1e11);
  problem.read_bytes_per_s = chance.scale(1e9, 1e11);
  problem.write_bytes_per_s = chance.scale(1e9, 1e11);
  problem.mixed_efficiency = chance.scale(0.8, 1.5);
  problem.adam_per_s = chance.scale(1e8, 1e11);
  return problem;
}

constexpr std::uint64_t problems = 5000;

/// All prefixes of the order, the empty one first: bytes and seconds.
std::vector<std::pair<double, double>> curve(const SwapProblem& problem) {
  std::uint64_t bytes = problem.least_bytes, recompute = 0;
  for (const SwapItem& item : problem.items) recompute += item.flops;
  std::vector<std::pair<double, double>> points;
  const auto add = [&] {
    points.emplace_back(bytes, swap_times(problem, bytes, recompute).step_s());
  };
  add();
  for (const std::size_t i : swap_order(problem, SwapOrder::offloading_benefit)) {
    bytes += problem.items[i].bytes;
    recompute -= problem.items[i].flops;
    add();
  }
  return points;
}

TEST(SwapPlannerProperties, TheStepIsConvexInTheBytes) {
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    const auto points = curve(any_problem(seed));
    for (std::size_t i = 2; i < points.size(); ++i) {
      const auto slope = [&](std::size_t k) {
        return (points[k].second - points[k - 1].second) / (points[k].first - points[k - 1].first);
      };
      // rounding of times near 1e6 s, over items of 1 MB or more
      const double noise = 1e-15 * points[i].second / (points[i].first - points[i - 1].first) +
                           1e-15 * points[i].second / (points[i - 1].first - points[i - 2].first);
      ASSERT_GE(slope(i), slope(i - 1) - 4 * noise - 1e-12 * std::abs(slope(i)))
          << "seed " << seed << ", item " << i;
    }
  }
}

TEST(SwapPlannerProperties, ThePlanIsTheBestOfAllPrefixes) {
  std::vector<int> seen(4);
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    const SwapProblem problem = any_problem(seed);
    const auto points = curve(problem);
    double best = points.front().second;
    for (const auto& [bytes, seconds] : points) best = std::min(best, seconds);
    const SwapPlan plan = plan_swap(problem);
    ASSERT_NEAR(plan.times.step_s() / best, 1, 1e-12) << "seed " << seed;
    EXPECT_EQ(static_cast<double>(plan.bytes), points[plan.taken.size()].first);
    ++seen[static_cast<std::size_t>(plan.which_case)];
    if (plan.which_case == 1) {
      EXPECT_LE(points.front().second, points.back().second);
    }
    if (plan.which_case == 2) {
      EXPECT_LT(points.back().second, points.front().second);
    }
    if (plan.which_case == 3) {
      EXPECT_LT(plan.times.step_s(), points.front().second);
      EXPECT_LE(plan.times.step_s(), points.back().second);
    }
  }
  for (int which = 1; which <= 3; ++which)
    EXPECT_GT(seen[static_cast<std::size_t>(which)], 100) << "case " << which;
}

TEST(SwapPlannerProperties, ABetterMachineIsNeverSlower) {
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    const SwapProblem problem = any_problem(seed);
    const double now = plan_swap(problem).times.step_s();
    const auto better = [&](auto change) {
      SwapProblem more = problem;
      change(more);
      ASSERT_LE(plan_swap(more).times.step_s(), now * (1 + 1e-12)) << "seed " << seed;
    };
    better([](SwapProblem& p) { p.flops_per_s *= 1.5; });
    better([](SwapProblem& p) { p.down_bytes_per_s *= 1.5; });
    better([](SwapProblem& p) { p.up_bytes_per_s *= 1.5; });
    better([](SwapProblem& p) { p.read_bytes_per_s *= 1.5; });
    better([](SwapProblem& p) { p.write_bytes_per_s *= 1.5; });
    better([](SwapProblem& p) { p.adam_per_s *= 1.5; });
    better([](SwapProblem& p) { p.host_bytes += p.host_bytes / 2 + giga; });
  }
}

// ---- Items of a model

/// Of the small gpt2: 2 x 64 tokens, h = 1024.
constexpr std::uint64_t tokens = 128, wide = 1024, row = 2 * tokens * wide;

TEST(SwapItems, OfAGptBlockAreItsProductsAndWhatNeedsThem) {
  const Prepared prepared =
      prepare(small_model("gpt2", "resident", {"training.causal_skip=false"}));
  const std::vector<SwapItem> items = swap_items(prepared.model, prepared.program);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> with_flops;
  std::uint64_t bytes = 0;
  for (const SwapItem& item : items) {
    bytes += item.bytes;
    if (item.flops) with_flops.emplace_back(item.bytes, item.flops);
  }
  const std::uint64_t square = 2 * tokens * wide * wide;
  ASSERT_EQ(with_flops.size(), 8u);                          // two blocks
  EXPECT_EQ(with_flops[0], std::pair(3 * row, 3 * square));  // query, key and value: one product
  EXPECT_EQ(with_flops[1].second, 4 * tokens * 64 * wide);   // scores and values
  EXPECT_EQ(with_flops[2], std::pair(row, square));  // the sum behind the attention's projection
  EXPECT_EQ(with_flops[3], std::pair(4 * row, 4 * square));
  EXPECT_EQ(with_flops[4], with_flops[0]);
  // the second product of the MLP runs never again: nothing in its block is made of it
  std::uint64_t saved = 0;
  for (std::uint32_t layer = 1; layer <= 2; ++layer)
    for (const models::TensorId id : prepared.program.saved_by(layer))
      saved += prepared.program.tensors[id].bytes.value();
  EXPECT_EQ(bytes, saved - 2 * row);  // all but the blocks' inputs
}

TEST(SwapItems, HoldEverySavedTensorOfABlockOnce) {
  for (const std::string& model : small_models())
    for (const char* attention : {"flash", "materialized"}) {
      SCOPED_TRACE(model + " " + attention);
      const Prepared prepared =
          prepare(small_model(model, "resident", {std::string("training.attention=") + attention}));
      std::vector<int> seen(prepared.program.tensors.size());
      double flops = 0, blocks = 0;
      for (const SwapItem& item : swap_items(prepared.model, prepared.program)) {
        std::uint64_t bytes = 0;
        for (const models::TensorId id : item.tensors) {
          ++seen[id];
          bytes += prepared.program.tensors[id].bytes.value();
          EXPECT_TRUE(prepared.model.layers[prepared.program.tensors[id].layer].is_block);
        }
        EXPECT_EQ(item.bytes, bytes);
        EXPECT_GT(item.bytes, 0u);
        flops += static_cast<double>(item.flops);
      }
      EXPECT_LE(*std::max_element(seen.begin(), seen.end()), 1);
      for (std::size_t layer = 0; layer < prepared.model.layers.size(); ++layer)
        if (prepared.model.layers[layer].is_block)
          blocks += prepared.program.flops(prepared.program.layers[layer].forward).value();
      EXPECT_GT(flops, 0.4 * blocks);
      EXPECT_LE(flops, blocks);
    }
}

}  // namespace
}  // namespace spillway::strategies
