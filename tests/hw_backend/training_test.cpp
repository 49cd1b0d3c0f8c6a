#include "tests/hw_backend/training.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend {
namespace {

TEST(Training, OfZeroInfinityEndsWhereResidentDoes) {
  const Real reference = run_for_real(small_training("resident"));
  const Real run = run_for_real(small_training("zero_infinity"));
  ASSERT_TRUE(reference.result.feasible());
  ASSERT_TRUE(run.result.feasible());
  ASSERT_EQ(run.trained.losses.size(), 3u);
  for (const double loss : run.trained.losses) std::printf("loss %g\n", loss);
  EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
  std::printf("step %g s, ledger %g kernel %g\n", run.result.step_time_s, double(run.memory.ledger),
              double(run.memory.kernel));
}

}  // namespace
}  // namespace spillway::hw_backend
