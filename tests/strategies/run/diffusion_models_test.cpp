#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies {
namespace {

result::Result fast_dit(const std::string& model, Overrides overrides = {}) {
  overrides.insert(overrides.begin(), {"model=" + model, "training.micro_batch=1"});
  return count(example("fast_dit", overrides)).result;
}

TEST(FastDit, TakesTwentyBytesAParameterAndFitsBelowABillionParameters) {
  // 2 weights + 2 gradients + 12 states + 4 moving average
  const result::Result run = fast_dit("dit-0.9b");
  ASSERT_TRUE(run.feasible());
  const double parameters = 891'904'032;
  const double bytes =
      static_cast<double>(at_peak(run.gpu, "weights") + at_peak(run.gpu, "gradients") +
                          at_peak(run.gpu, "optimizer_states"));
  EXPECT_NEAR(bytes, 20 * parameters, 0.002 * 20 * parameters);
  EXPECT_TRUE(fast_dit("dit-0.67b").feasible());
  // 27.4 GB on 24 GiB; without the average 21.9 GB fit
  const result::Result larger = fast_dit("dit-1.4b");
  ASSERT_TRUE(larger.infeasible);
  EXPECT_EQ(larger.infeasible->tier, "gpu");
  EXPECT_TRUE(fast_dit("dit-1.4b", {"training.ema=false"}).feasible());
}

TEST(FastDit, TheMovingAverageIsReadAndWrittenInEachUpdate) {
  // 12 B a parameter at 1008 GB/s
  const auto update = [](const char* ema) {
    return simulate(example("fast_dit", {std::string("training.ema=") + ema})).update_s;
  };
  const double average = 12 * 891'904'032.0 / 1008e9;
  EXPECT_NEAR(update("true") - update("false"), average, 0.02 * average);
}

TEST(LohanOnDiffusionModels, TrainsWhatFastDitCannot) {
  for (const char* model : {"dit-10b", "dit-20b", "dit-40b"}) {
    const Overrides one{std::string("model=") + model, "training.micro_batch=8"};
    EXPECT_TRUE(simulate(example("lohan_dit_10b", one)).feasible()) << model;
    EXPECT_FALSE(fast_dit(model).feasible()) << model;
  }
}

}  // namespace
}  // namespace spillway::strategies
