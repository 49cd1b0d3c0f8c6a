#include "gui/chart/axis.hpp"

#include <gtest/gtest.h>

namespace spillway::gui {
namespace {

TEST(Axis, PutsValuesAtPixelsAndBack) {
  const Axis axis(10, 20, 100, 300);  // 20 pixels a unit
  EXPECT_DOUBLE_EQ(axis.pixel(15), 200);
  EXPECT_DOUBLE_EQ(axis.value(200), 15);
  EXPECT_DOUBLE_EQ(axis.per_pixel(), 0.05);
}

TEST(Axis, ZoomsAroundAValueThatStaysWhereItIs) {
  const Axis axis(0, 100, 0, 1000);
  const Axis closer = axis.zoomed(25, 2);
  EXPECT_DOUBLE_EQ(closer.span(), 50);
  EXPECT_DOUBLE_EQ(closer.pixel(25), axis.pixel(25));
}

TEST(Axis, StaysWithinWhatThereIs) {
  // 10 wide, moved to end at 100: from 90
  const Axis axis = Axis(95, 105, 0, 1).within(0, 100, 1);
  EXPECT_DOUBLE_EQ(axis.from(), 90);
  EXPECT_DOUBLE_EQ(axis.to(), 100);
  EXPECT_DOUBLE_EQ(Axis(50, 50.1, 0, 1).within(0, 100, 1).span(), 1);
  EXPECT_DOUBLE_EQ(Axis(-500, 500, 0, 1).within(0, 100, 1).span(), 100);
}

TEST(Axis, HasRoundTicksThatAreFarEnoughApart) {
  // 1000 pixels for 0.5 s; 80 pixels are 0.04 s, so that the step is 0.05 s: 11 ticks
  const auto ticks = Axis(1, 1.5, 0, 1000).ticks(Quantity::seconds, 80);
  ASSERT_EQ(ticks.size(), 11u);
  EXPECT_EQ(ticks[1].text, "1.05 s");
  EXPECT_EQ(ticks[10].text, "1.50 s");
}

TEST(Axis, TellsTicksApartThatAreMicrosecondsApart) {
  const auto ticks = Axis(79.0157, 79.0158, 0, 500).ticks(Quantity::seconds, 100);
  ASSERT_GT(ticks.size(), 2u);
  for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_NE(ticks[i].text, ticks[i - 1].text);
}

TEST(Axis, CountsShortLifetimesInDaysAndWholeNumbersWithoutPoints) {
  // 25 to 32 days over 700 pixels: one a day
  const auto days = Axis(25 / 365., 32 / 365., 0, 700).ticks(Quantity::years, 90);
  ASSERT_EQ(days.size(), 8u);
  EXPECT_EQ(days[1].text, "26 days");
  EXPECT_EQ(Axis(0, 10, 0, 100).ticks(Quantity::years, 40)[1].text, "5.0 years");
  const auto counts = Axis(0, 2000, 0, 400).ticks(Quantity::number, 90);
  EXPECT_EQ(counts[1].text, "500");
  EXPECT_EQ(counts[4].text, "2,000");
  EXPECT_EQ(Axis(0, 1, 0, 400).ticks(Quantity::number, 90)[1].text, "0.50");
}

TEST(Axis, CountsMemoryInPowersOfTwo) {
  // 400 pixels for 64 GiB, ticks at least 90 apart: 14.4 GiB becomes 16 GiB
  const double gib = 1ull << 30;
  const auto ticks = Axis(0, 64 * gib, 0, 400).ticks(Quantity::memory, 90);
  ASSERT_EQ(ticks.size(), 5u);
  EXPECT_EQ(ticks[1].text, "16.0 GiB");
}

}  // namespace
}  // namespace spillway::gui
