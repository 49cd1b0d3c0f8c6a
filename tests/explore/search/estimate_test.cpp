#include "explore/search/estimate.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/explore/spaces.hpp"

#include <gtest/gtest.h>

namespace spillway::explore::estimate_test {
namespace {

/// One step takes long where there are many micro-batches, which jitter tells apart, and none where
/// it does not fit.
Estimate of(const Backend& backend, std::size_t samples) {
  const SpaceFiles files;
  const scenarios::Space space = files.space(space_over(
      R"("training.gradient_accumulation": [1, 2, 4, 8, 200],
         "training.micro_batch": [1, 2, 100000], "run.jitter": [0.001])",
      R"(, "constraints": ["feasible"])"));
  const Points points(space);
  return estimate(backend, points, points.count(), samples, 1);
}

TEST(Estimate, LooksAtPointsAllOverTheSpace) {
  const Estimate all = of(sim(), 100);
  EXPECT_EQ(all.sampled, 15u);
  // 5 of 15 do not fit: a bound says so at once
  EXPECT_NEAR(all.open_share, 10.0 / 15, 1e-9);
  EXPECT_GT(all.bounds_s, 0);
  // 200 micro-batches take many times as long as one
  EXPECT_GT(all.longest_s, 5 * all.shortest_s);
  EXPECT_NEAR(all.simulations_s, 10 * all.mean_s, 1e-9);
  EXPECT_GE(all.mean_s, all.shortest_s);
  EXPECT_EQ(of(sim(), 4).sampled, 4u);
}

TEST(Estimate, SaysWhenItWasEnded) {
  Backend hurried = sim();
  hurried.watch = [](std::size_t) { return false; };
  const Estimate none = of(hurried, 100);
  EXPECT_FALSE(none.whole);
  EXPECT_EQ(none.sampled, 0u);
}

}  // namespace
}  // namespace spillway::explore::estimate_test
