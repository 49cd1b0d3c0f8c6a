#include "gui/app/window.hpp"
#include "gui/page/explore.hpp"
#include "tests/gui/sample_space.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

namespace spillway::gui {
namespace {

nlohmann::json tiny() {
  QFile file(SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json");
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QByteArray text = file.readAll();
  return nlohmann::json::parse(text.begin(), text.end(), nullptr, true, true);
}

/// A window with a space of 50 points, every tenth on the front.
class ExploreWindow : public testing::Test {
 public:
  void SetUp() override {
    const QString file = folder_.filePath("space.db");
    write_space(file.toStdString(), 50, tiny());
    window_.show();
    session_.open({file});
    ASSERT_TRUE(until([&] { return window_.idle() && chart() && chart()->isVisible(); }));
    QObject::connect(&session_, &Session::refused, &window_,
                     [this](const QString& sentence) { refusal_ = sentence; });
  }
  Scatter* chart() const { return window_.page_named("explore")->findChild<Scatter*>(); }
  Parallel* parallel() const { return window_.page_named("explore")->findChild<Parallel*>(); }
  int rows() const {
    return window_.page_named("explore")->findChild<QTableView*>()->model()->rowCount();
  }
  /// Objectives come first: 1 is `price_usd`, 2000 + 10 * number.
  QPoint price(double number) const {
    return parallel()->place_of(1, 2000 + 10 * number).toPoint();
  }
  void drag_prices(double from, double to) const {
    QTest::mousePress(parallel(), Qt::LeftButton, {}, price(from));
    QTest::mouseMove(parallel(), price(to));
    QTest::mouseRelease(parallel(), Qt::LeftButton, {}, price(to));
  }
  /// Points `step_time_s` over `price_usd`, as write_space has them.
  QPoint place_of(std::uint64_t number) const {
    const double x = static_cast<double>(number);
    return chart()->place_of({2000 + 10 * x, 1 + 100 / (1 + x), false, number}).toPoint();
  }

  QTemporaryDir folder_;
  Session session_;
  Window window_{session_};
  QString refusal_;
};

TEST_F(ExploreWindow, OpensAPointOfTheFrontInWhatIfByADoubleClick) {
  ASSERT_EQ(window_.page(), window_.page_named("explore"));
  QTest::mouseDClick(chart(), Qt::LeftButton, {}, place_of(40));
  ASSERT_TRUE(until([&] { return window_.page() == window_.page_named("what-if"); }))
      << refusal_.toStdString();
  EXPECT_EQ(session_.question(), question_of(tiny()));
  EXPECT_EQ(session_.undo_stack().undoText(), "Open point 40 of sample");
}

TEST_F(ExploreWindow, OpensTheChosenPointByItsButton) {
  QPushButton* open = nullptr;
  for (auto* one : window_.page()->findChildren<QPushButton*>())
    if (one->text() == "&Open in What-if") open = one;
  ASSERT_TRUE(open);
  EXPECT_FALSE(open->isEnabled());
  QTest::mouseClick(chart(), Qt::LeftButton, {}, place_of(20));
  EXPECT_TRUE(open->isEnabled());
  QTest::mouseClick(open, Qt::LeftButton);
  EXPECT_TRUE(until([&] { return window_.page() == window_.page_named("what-if"); }));
}

/// The sample's database has no base, as one of an older program.
TEST_F(ExploreWindow, SaysThatOtherPointsOfAnOlderProgramHaveNoScenario) {
  Q_EMIT chart()->opened(41);
  EXPECT_TRUE(until([&] { return refusal_.contains("an older program"); }))
      << refusal_.toStdString();
  EXPECT_EQ(window_.page(), window_.page_named("explore"));
}

TEST_F(ExploreWindow, KeepsTheOrderAndTheChosenPointWhenABrushMoves) {
  auto* view = window_.page_named("explore")->findChild<QTableView*>();
  const auto price_in = [view](int row) { return view->model()->index(row, 3).data().toString(); };
  view->sortByColumn(3, Qt::DescendingOrder);
  ASSERT_EQ(price_in(0), "$2,490");
  view->selectRow(2);
  drag_prices(20, 49);
  ASSERT_TRUE(until([&] { return rows() < 50; }, 5000));
  EXPECT_EQ(price_in(0), "$2,490");
  EXPECT_EQ(view->currentIndex().siblingAtColumn(0).data().toInt(), 47);
}

TEST_F(ExploreWindow, ARangeDraggedOnAnAxisFiltersTableAndScatter) {
  ASSERT_EQ(rows(), 50);
  drag_prices(10, 30);
  ASSERT_EQ(parallel()->ranges().size(), 1U);
  const Range range = parallel()->ranges().at("price_usd");
  int expected = 0;
  for (int i = 0; i < 50; ++i) expected += range.holds(2000 + 10 * i) ? 1 : 0;
  EXPECT_NEAR(expected, 21, 3);
  EXPECT_TRUE(until([&] { return rows() == expected; }, 5000)) << rows();
  EXPECT_TRUE(chart()->accessibleDescription().startsWith(QString("%1 points").arg(expected)));
  EXPECT_TRUE(parallel()->accessibleDescription().startsWith(
      QString("%1 of 50 points selected").arg(expected)));
  QTest::mouseDClick(parallel(), Qt::LeftButton, {}, price(20));
  EXPECT_TRUE(parallel()->ranges().empty());
  EXPECT_TRUE(until([&] { return rows() == 50; }, 5000)) << rows();
}

TEST_F(ExploreWindow, KeysBrush) {
  QTest::keyClick(parallel(), Qt::Key_Right);
  QTest::keyClick(parallel(), Qt::Key_Up);
  ASSERT_TRUE(parallel()->ranges().contains("price_usd"));
  EXPECT_NEAR(parallel()->ranges().at("price_usd").from, 2245, 1e-6);
  EXPECT_NEAR(parallel()->ranges().at("price_usd").to, 2490, 1e-6);
  EXPECT_TRUE(until([&] { return rows() == 25; }, 5000)) << rows();
  QTest::keyClick(parallel(), Qt::Key_Down);
  EXPECT_NEAR(parallel()->ranges().at("price_usd").from, 2220.5, 1e-6);
  QTest::keyClick(parallel(), Qt::Key_Down, Qt::ShiftModifier);
  EXPECT_NEAR(parallel()->ranges().at("price_usd").from, 2220.5, 1e-6);
  EXPECT_NEAR(parallel()->ranges().at("price_usd").to, 2441, 1e-6);
  QTest::keyClick(parallel(), Qt::Key_Escape);
  EXPECT_TRUE(parallel()->ranges().empty());
  EXPECT_TRUE(until([&] { return rows() == 50; }, 5000)) << rows();
}

TEST_F(ExploreWindow, LinesOfTheFrontAreStrongAndThoseOutsideABrushFaint) {
  const auto darkness = [&](std::uint64_t number) {
    const QPoint at = parallel()->place_of(1, 2000 + 10. * static_cast<double>(number)).toPoint();
    const QColor colour(parallel()->grab().toImage().pixel(at - QPoint(2, 0)));
    return 255 - colour.lightness();
  };
  const int strong = darkness(40), plain = darkness(45);
  EXPECT_GT(strong, plain + 20);
  EXPECT_GT(plain, 0);
  parallel()->set_ranges({{"price_usd", {2000, 2100}}});
  EXPECT_LT(darkness(40), strong - 20);
}

}  // namespace
}  // namespace spillway::gui
