// Points over two axes while they become more.
#include "gui/chart/scatter.hpp"

#include <gtest/gtest.h>
#include <QTest>

namespace spillway::gui {
namespace {

const Dimension hours = {"run.days", "days", Quantity::number};
const Dimension dollars = {"price_usd", "price", Quantity::dollars};

Scatter::Point point(double x, double y) { return {x, y, true, 0}; }

bool shows(const Scatter& chart, double x, double y) {
  const auto on = [](const Axis& axis, double value) {
    return value >= axis.from() && value <= axis.to();
  };
  return on(chart.across(), x) && on(chart.upwards(), y);
}

TEST(Scatter, FollowsItsPointsUntilSomebodyZoomsOrPans) {
  Scatter chart;
  chart.resize(600, 400);
  chart.show();
  std::vector<Scatter::Point> points = {point(1, 100), point(2, 200)};
  chart.set(hours, dollars, points);
  EXPECT_FALSE(shows(chart, 9, 50));
  points.push_back(point(9, 50));
  chart.set(hours, dollars, points);
  EXPECT_TRUE(shows(chart, 9, 50));
  const double span = chart.across().span();
  chart.set(hours, dollars, {points[0]});  // fewer, as of a filter
  EXPECT_EQ(chart.across().span(), span);
  QTest::keyClick(&chart, Qt::Key_Plus);
  points.push_back(point(20, 500));
  chart.set(hours, dollars, points);
  EXPECT_FALSE(shows(chart, 20, 500));  // somebody looks at a part
  QTest::keyClick(&chart, Qt::Key_F);
  EXPECT_TRUE(shows(chart, 20, 500));
  points.push_back(point(40, 500));
  chart.set(hours, dollars, points);
  EXPECT_TRUE(shows(chart, 40, 500));
}

TEST(Scatter, BeginsNotBelowZeroWhereNothingIs) {
  Scatter chart;
  chart.set(hours, dollars, {point(0.1, 100), point(100, 9000)});
  EXPECT_EQ(chart.across().from(), 0);  // 5 % of room would be -4.9 days
  EXPECT_EQ(chart.upwards().from(), 0);
  chart.set(hours, dollars, {});
  chart.set(hours, dollars, {point(5, 5)});  // alone: a tenth around it
  EXPECT_EQ(chart.across().from(), 4.5);
  chart.set(hours, dollars, {});
  chart.set({"x", "difference"}, dollars, {point(-1, 1), point(1, 2)});
  EXPECT_LT(chart.across().from(), -1);
}

TEST(Scatter, GivesTheFirstWordOfAnAxisItsRoom) {
  Scatter chart;
  const Dimension words = {"strategy.system", "system", Quantity::number, {"lohan", "teraio"}};
  chart.set(words, dollars, {point(0, 1), point(1, 2)});
  EXPECT_LT(chart.across().from(), 0);
}

}  // namespace
}  // namespace spillway::gui
