#include "gui/chart/parallel.hpp"

#include <gtest/gtest.h>
#include <QTest>

#include <algorithm>
#include <cmath>

namespace spillway::gui {
namespace {

/// Two axes, of three systems and of seconds; a point for each system, the last without seconds.
class Chart : public testing::Test {
 public:
  void SetUp() override {
    chart_.resize(600, 260);
    chart_.set({{"strategy.system", "system", Quantity::number, {"g10", "lohan", "teraio"}},
                {"step_time_s", "step", Quantity::seconds}},
               {{{0, 4}, false, 10}, {{1, 2}, true, 11}, {{2, std::nan("")}, false, 12}});
  }
  Range systems() const { return chart_.ranges().at("strategy.system"); }
  bool says(const char* words) const { return chart_.accessibleDescription().contains(words); }
  /// How dark a line is that leaves a system towards the right.
  int darkness(double system) {
    const QPoint at = chart_.place_of(0, system).toPoint();
    const QImage image = chart_.grab().toImage();
    int most = 0;
    for (int y = -8; y <= 8; ++y)
      most = std::max(most, 255 - image.pixelColor(at + QPoint(12, y)).lightness());
    return most;
  }

  Parallel chart_;
};

TEST_F(Chart, KeysBrushOneWordAfterTheOther) {
  EXPECT_TRUE(says("3 of 3 points selected; keys brush system"));
  QTest::keyClick(&chart_, Qt::Key_Up);
  EXPECT_TRUE(says("1 of 3 points selected; system teraio"));
  QTest::keyClick(&chart_, Qt::Key_Down);
  EXPECT_TRUE(says("1 of 3 points selected; system lohan"));
  QTest::keyClick(&chart_, Qt::Key_Up, Qt::ShiftModifier);
  EXPECT_TRUE(says("2 of 3 points selected; system lohan, teraio"));
  EXPECT_FALSE(systems().holds(0));
  QTest::keyClick(&chart_, Qt::Key_Up);  // there is no further one
  EXPECT_TRUE(says("2 of 3 points selected; system lohan, teraio"));
  QTest::keyClick(&chart_, Qt::Key_Right);
  QTest::keyClick(&chart_, Qt::Key_Down);
  EXPECT_TRUE(says("1 of 3 points selected; system lohan, teraio; step from 2.00 s to 3.00 s"));
}

TEST_F(Chart, ADragOverAWordSelectsIt) {
  QTest::mousePress(&chart_, Qt::LeftButton, {}, chart_.place_of(0, 0.8).toPoint());
  QTest::mouseMove(&chart_, chart_.place_of(0, 1.2).toPoint());
  QTest::mouseRelease(&chart_, Qt::LeftButton, {}, chart_.place_of(0, 1.2).toPoint());
  EXPECT_TRUE(systems().holds(1));
  EXPECT_FALSE(systems().holds(0));
  EXPECT_FALSE(systems().holds(2));
}

TEST_F(Chart, LinesStartAtTheirWordsAndAreFaintOutsideABrush) {
  const int strong = darkness(0);
  EXPECT_GT(strong, 40);
  EXPECT_EQ(darkness(2), 0) << "a line without its other end";
  chart_.set_ranges({{"strategy.system", {0.5, 1.5}}});
  EXPECT_LT(darkness(0), strong / 2);
  EXPECT_GT(darkness(0), 5) << "it is gone";
}

TEST_F(Chart, ABrushOfAnAxisThatGoesGoesToo) {
  chart_.set_ranges({{"strategy.system", {0.5, 1.5}}, {"step_time_s", {0, 3}}});
  chart_.set({{"step_time_s", "step", Quantity::seconds}}, {{{4}, false, 10}, {{2}, true, 11}});
  EXPECT_FALSE(chart_.ranges().contains("strategy.system"));
  EXPECT_TRUE(says("1 of 2 points selected; step from 0"));
}

}  // namespace
}  // namespace spillway::gui
