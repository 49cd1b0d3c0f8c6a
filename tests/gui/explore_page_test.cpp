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

TEST_F(ExploreWindow, SaysThatOtherPointsHaveNoScenario) {
  Q_EMIT chart()->opened(41);
  EXPECT_TRUE(refusal_.contains("front")) << refusal_.toStdString();
  EXPECT_EQ(window_.page(), window_.page_named("explore"));
}

}  // namespace
}  // namespace spillway::gui
