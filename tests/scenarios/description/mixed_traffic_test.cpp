#include "scenarios/description/mixed_traffic.hpp"

#include <gtest/gtest.h>

namespace spillway::description {
namespace {

TEST(MixedTraffic, CostsMostAtHalfAndNothingOneWay) {
  EXPECT_EQ(efficiency_of_mix(0.8, 0), 1);
  EXPECT_DOUBLE_EQ(efficiency_of_mix(0.8, 0.25), 0.85);  // 1 - .2 x 4 x 1/4 x 3/4
  EXPECT_DOUBLE_EQ(efficiency_of_mix(0.8, 0.5), 0.8);
  EXPECT_EQ(efficiency_of_mix(0.8, 1), 1);
  EXPECT_EQ(efficiency_of_mix(1, 0.3), 1);
}

TEST(MixedTraffic, MakesNoWayFasterThanAlone) {
  EXPECT_DOUBLE_EQ(efficiency_of_mix(1.2, 0.5), 1.2);
  EXPECT_DOUBLE_EQ(efficiency_of_mix(2, 0.5), 2);
  EXPECT_DOUBLE_EQ(efficiency_of_mix(2, 0.75), 4.0 / 3);  // 1 + 3/4 would be reads at 1.31
  EXPECT_DOUBLE_EQ(efficiency_of_mix(2, 0.25), 4.0 / 3);
}

TEST(MixedTraffic, IsFittedToAllMixes) {
  EXPECT_EQ(fitted_mixed_efficiency({}), 1);
  EXPECT_EQ(fitted_mixed_efficiency({{0.9, 0}}), 1);  // no mix
  EXPECT_DOUBLE_EQ(fitted_mixed_efficiency({{0.4, 0.4}}), 0.8);
  EXPECT_DOUBLE_EQ(fitted_mixed_efficiency({{0.6, 0.6}}), 1.2);
  // x = 1/4, 4x(1 - x) = 3/4: .85 of the time lost .15 at 3/4 of the mixing
  EXPECT_DOUBLE_EQ(fitted_mixed_efficiency({{0.2125, 0.6375}}), 0.8);
  // losses of .2 at 1 and .3 at .75: (.2 + .225) / (1 + .5625) = .272
  EXPECT_DOUBLE_EQ(fitted_mixed_efficiency({{0.4, 0.4}, {0.175, 0.525}}), 0.728);
}

}  // namespace
}  // namespace spillway::description
