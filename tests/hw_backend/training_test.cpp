#include "tests/hw_backend/training.hpp"

#include "strategies/numerics.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend {
namespace {

/// A way to train, beside the system that does it.
struct Way {
  const char* name;
  Overrides overrides;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"bf16", {}},
      {"fp32", {"training.precision=fp32"}},
      {"fp16", {"training.precision=fp16_mixed"}},
      {"bf16_states", {"training.optimizer_state=bf16"}},
      {"accumulated", {"training.gradient_accumulation=2"}},
      {"two_ranks", {"parallel.data=2"}},
      {"two_ranks_accumulated",
       {"parallel.data=2", "training.gradient_accumulation=2", "training.precision=fp16_mixed"}},
  };
  return all;
}

struct Case {
  std::string system;
  Way way;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* system : {"zero_offload", "zero_infinity", "memascend", "mlp_offload"})
    for (const Way& way : ways()) all.push_back({system, way});
  return all;
}

class Training : public ::testing::TestWithParam<Case> {};

TEST_P(Training, EndsWhereTheReferenceDoesBitForBit) {
  const description::Scenario scenario =
      small_training(GetParam().system, GetParam().way.overrides);
  const RealRun reference = train_for_real(strategies::reference_of(scenario));
  const RealRun run = train_for_real(scenario);
  ASSERT_TRUE(reference.result.feasible());
  ASSERT_TRUE(run.result.feasible());
  EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

INSTANTIATE_TEST_SUITE_P(Systems, Training, ::testing::ValuesIn(cases()), [](const auto& one) {
  return one.param.system + "_" + one.param.way.name;
});

}  // namespace
}  // namespace spillway::hw_backend
