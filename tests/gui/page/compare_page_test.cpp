// The page of runs side by side: their timelines on one axis.
#include "gui/app/window.hpp"
#include "gui/page/track_button.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QLabel>
#include <QPushButton>

#include <algorithm>

namespace spillway::gui {
namespace {

class ComparedRuns : public testing::Test {
 public:
  void SetUp() override {
    window_.resize(1280, 860);
    window_.show();
    session_.open({SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json"});
    ASSERT_TRUE(until([&] { return window_.idle() && session_.answer().result; }));
    page_ = window_.page_named("compare");
  }
  /// The timelines that are seen, from above.
  std::vector<Timeline*> timelines() const {
    std::vector<Timeline*> seen;
    for (Timeline* one : page_->findChildren<Timeline*>())
      if (one->isVisible() && one->trace()) seen.push_back(one);
    std::sort(seen.begin(), seen.end(), [&](const QWidget* a, const QWidget* b) {
      return a->mapTo(page_, QPoint()).y() < b->mapTo(page_, QPoint()).y();
    });
    return seen;
  }
  bool says(const QString& words) const {
    for (const QLabel* label : page_->findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(words)) return true;
    return false;
  }
  void click(const QString& text) {
    for (auto* button : page_->findChildren<QPushButton*>())
      if (button->text() == text) button->click();
  }
  void keep() { click("&Keep the answer of What-if"); }
  void show_page() {
    window_.show_page("compare");
    ASSERT_TRUE(until([&] { return window_.idle(); }));
    QCoreApplication::processEvents();
  }
  void change_model() {
    Question next = session_.question();
    next.sequence = 2 * next.sequence;
    session_.change(next, "a longer sequence");
    ASSERT_TRUE(until([&] { return window_.idle() && !session_.answer().approximate(); }));
  }

  Session session_;
  Window window_{session_};
  Page* page_ = nullptr;
};

TEST_F(ComparedRuns, HaveATimelineEachOnOneAxis) {
  keep();
  change_model();
  show_page();
  const auto two = timelines();
  ASSERT_EQ(two.size(), 2u) << page_->text().toStdString();
  EXPECT_TRUE(two[0]->accessibleName().contains("1 ")) << two[0]->accessibleName().toStdString();
  EXPECT_EQ(two[1]->accessibleName(), "Timeline of What-if now");
  EXPECT_NE(two[0]->trace(), two[1]->trace());
  two[0]->set_axis(two[0]->axis().zoomed(0, 3));
  EXPECT_DOUBLE_EQ(two[0]->axis().from(), two[1]->axis().from());
  EXPECT_DOUBLE_EQ(two[0]->axis().per_pixel(), two[1]->axis().per_pixel());
  two[1]->mark(std::make_pair(Instant{1000}, Instant{2000}));
  EXPECT_EQ(two[0]->marked(), two[1]->marked());
  EXPECT_TRUE(says("Marked: "));
  EXPECT_TRUE(page_->text().contains("What-if now"));
}

TEST_F(ComparedRuns, OfOneScenarioShareATimeline) {
  keep();
  keep();
  show_page();
  const auto two = timelines();
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0]->trace(), two[1]->trace());
  click("&Remove the last");
  EXPECT_TRUE(window_.idle()) << "a timeline that is there was worked out again";
  EXPECT_EQ(timelines().size(), 2u);  // beside What-if, whose scenario it is
  EXPECT_EQ(timelines()[0]->trace(), timelines()[1]->trace());
  click("&Remove the last");
  EXPECT_TRUE(timelines().empty());
}

TEST_F(ComparedRuns, AreWorkedOutOnlyWhereSomebodyLooks) {
  keep();
  keep();
  EXPECT_FALSE(page_->busy());
  window_.show_page("compare");
  EXPECT_TRUE(page_->busy());
  session_.remove_contender(0);
  session_.remove_contender(0);
  EXPECT_FALSE(page_->busy());
}

TEST_F(ComparedRuns, WithoutAScenarioSaySo) {
  result::Result bare = *session_.answer().result;
  bare.scenario = nullptr;
  session_.add_contender("bare", bare);
  keep();
  show_page();
  EXPECT_EQ(timelines().size(), 1u);
  EXPECT_TRUE(says("opened without its scenario"));
  EXPECT_TRUE(page_->text().contains("opened without its scenario"));
}

TEST_F(ComparedRuns, ThatArePinnedStandBesideTheOthers) {
  keep();
  session_.pin();
  show_page();
  const auto two = timelines();
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1]->accessibleName(), "Timeline of pinned");
  session_.unpin();
  QCoreApplication::processEvents();
  EXPECT_EQ(timelines().back()->accessibleName(), "Timeline of What-if now");
}

TEST_F(ComparedRuns, HideTheSameTracks) {
  keep();
  keep();
  show_page();
  auto* tracks = page_->findChild<TrackButton*>();
  ASSERT_TRUE(tracks);
  tracks->set_filter({.resources = {"h2d", "d2h"}});
  for (const Timeline* one : timelines()) EXPECT_GT(one->shown_tracks().hidden(), 0u);
  keep();
  ASSERT_TRUE(until([&] { return timelines().size() == 3; }));
  EXPECT_EQ(timelines()[2]->filter(), tracks->filter());
}

}  // namespace
}  // namespace spillway::gui
