// Tracks that are hidden: what a filter leaves out, and that nothing finds it.
#include "gui/model/track_filter.hpp"
#include "gui/model/trace_words.hpp"
#include "gui/page/track_button.hpp"
#include "tests/gui/sample_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <QMenu>
#include <QTest>

namespace spillway::gui {
namespace {

using testing::ElementsAre;

/// Titles of what a filter shows of two_ranks, tracks first.
std::vector<std::string> shown_of(const TrackFilter& filter) {
  const Trace trace = two_ranks();
  const ShownTracks shown = shown_tracks(trace, filter);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < trace.tracks.size(); ++i)
    if (shown.track(i)) names.push_back(trace.tracks[i].title());
  for (std::size_t i = 0; i < trace.counters.size(); ++i)
    if (shown.counter(i)) names.push_back(trace.counters[i].name);
  EXPECT_EQ(names.size() + shown.hidden(), trace.tracks.size() + trace.counters.size());
  return names;
}

TEST(TrackFilter, NamesWhatCanBeHidden) {
  const TrackNames names = track_names(two_ranks());
  EXPECT_THAT(names.resources, ElementsAre("steps", "compute", "h2d", "nvme"));
  EXPECT_THAT(names.owners, ElementsAre("node", "rank 0", "rank 1"));
  EXPECT_THAT(names.counters, ElementsAre("memory", "rate"));
}

TEST(TrackFilter, HidesAResourceOfEveryRankWithItsRate) {
  EXPECT_THAT(shown_of({.resources = {"h2d", "steps"}}),
              ElementsAre("rank 0 compute", "rank 1 compute", "node nvme", "gpu 0 memory",
                          "gpu 1 memory", "host memory"));
}

TEST(TrackFilter, HidesARankWithItsCounters) {
  EXPECT_THAT(shown_of({.owners = {"rank 0", "node"}}),
              ElementsAre("rank 1 compute", "rank 1 h2d", "gpu 1 memory"));
}

TEST(TrackFilter, HidesCountersByTheirKind) {
  EXPECT_THAT(shown_of({.resources = {"compute", "h2d", "nvme"}, .counters = {"memory"}}),
              ElementsAre("node steps"));
}

TEST(TrackFilter, FindsTheOwnersOfAMeasuredRun) {
  TraceBuilder builder;
  builder.process_name(1, "measured rank 0");
  builder.process_name(2, "measured node");
  builder.slice(1, 1, "kernel", "forward", 0, 1, 0);
  builder.slice(2, 1, "read", "forward", 0, 1, 0);
  builder.sample("measured gpu 0 memory", "bytes", 0, 1);
  builder.sample("measured host memory", "bytes", 0, 1);
  const Trace trace = builder.finish();
  EXPECT_THAT(shown_tracks(trace, {.owners = {"measured rank 0"}}).counters, ElementsAre(0, 1));
  EXPECT_THAT(shown_tracks(trace, {.owners = {"measured node"}}).counters, ElementsAre(1, 0));
}

TEST(TrackFilter, SearchAndSumsLeaveOutWhatIsHidden) {
  const Trace trace = two_ranks();
  const ShownTracks shown = shown_tracks(trace, {.resources = {"nvme"}, .owners = {"rank 0"}});
  const auto found = find_slice(trace, "kernel", {}, false, shown);
  ASSERT_TRUE(found);
  EXPECT_EQ(trace.track_of(*found).title(), "rank 1 compute");
  EXPECT_EQ(find_slice(trace, "kernel", found, false, shown), found);  // there is no other
  EXPECT_EQ(area_rows(trace, trace.begin, trace.end, shown).size(), 2u);
}

TEST(TimelineWidget, LaysOutNothingThatIsHidden) {
  Timeline timeline;
  timeline.resize(900, 500);
  timeline.set_trace(shared(two_ranks()));
  const std::size_t all = timeline.look_for(timeline.rect()).rows.size();
  timeline.set_filter({.owners = {"rank 0"}});
  EXPECT_EQ(timeline.look_for(timeline.rect()).rows.size(), all - 5);  // its name, 2 and 2 counters
  EXPECT_TRUE(timeline.accessibleDescription().contains("4 tracks are hidden"))
      << timeline.accessibleDescription().toStdString();
  timeline.set_trace(shared(two_ranks()));  // the filter is kept
  EXPECT_EQ(timeline.shown_tracks().hidden(), 4u);
}

TEST(TimelineWidget, SearchAndArrowsSkipWhatIsHidden) {
  Timeline timeline;
  timeline.resize(900, 500);
  timeline.set_trace(shared(two_ranks()));
  timeline.search("kernel");
  EXPECT_EQ(timeline.matches(), 3u);
  timeline.find_next();  // the read, which is first
  ASSERT_TRUE(timeline.selected());
  timeline.set_filter({.resources = {"nvme", "steps"}, .owners = {"rank 0"}});
  EXPECT_EQ(timeline.matches(), 1u);
  EXPECT_FALSE(timeline.selected()) << "what is hidden stays selected";
  QTest::keyClick(&timeline, Qt::Key_Right);
  ASSERT_TRUE(timeline.selected());
  EXPECT_EQ(timeline.trace()->track_of(*timeline.selected()).title(), "rank 1 compute");
}

/// The entry of the menu with that text, as it is now.
QAction* entry(TrackButton& button, const QString& text) {
  for (QAction* action : button.menu()->actions())
    if (action->text() == text) return action;
  return nullptr;
}

TEST(TrackButton, HidesInAllItsTimelinesAndSaysHowMany) {
  Timeline one, other;
  one.set_trace(shared(two_ranks()));
  TrackButton button;
  button.add(&one);
  EXPECT_EQ(button.text(), "&Tracks");
  Q_EMIT button.menu()->aboutToShow();
  ASSERT_TRUE(entry(button, "h2d"));
  EXPECT_TRUE(entry(button, "h2d")->isChecked());
  entry(button, "h2d")->trigger();
  EXPECT_EQ(button.text(), "&Tracks: 3 hidden");  // two copies and a rate
  EXPECT_TRUE(button.accessibleName().contains("3 hidden"));
  EXPECT_FALSE(entry(button, "All resources")->isChecked());
  other.set_trace(shared(two_ranks()));
  button.add(&other);
  EXPECT_EQ(other.filter(), one.filter());
  EXPECT_EQ(button.text(), "&Tracks: 6 hidden");
  entry(button, "Show every track")->trigger();
  EXPECT_EQ(one.shown_tracks().hidden() + other.shown_tracks().hidden(), 0u);
}

TEST(TrackButton, ShowsOneRankInTwoSteps) {
  Timeline timeline;
  timeline.set_trace(shared(two_ranks()));
  TrackButton button;
  button.add(&timeline);
  Q_EMIT button.menu()->aboutToShow();
  entry(button, "All ranks and nodes")->trigger();
  EXPECT_TRUE(timeline.look_for(timeline.rect()).rows.empty());
  entry(button, "rank 1")->trigger();
  EXPECT_EQ(timeline.filter().owners, (std::set<std::string>{"node", "rank 0"}));
}

TEST(TrackButton, ItsMenuStaysOpenWhileKeysToggle) {
  Timeline timeline;
  timeline.set_trace(shared(two_ranks()));
  TrackButton button;
  button.add(&timeline);
  button.menu()->popup({0, 0});
  button.menu()->setActiveAction(entry(button, "compute"));
  QTest::keyClick(button.menu(), Qt::Key_Space);
  QTest::keyClick(button.menu(), Qt::Key_Down);
  QTest::keyClick(button.menu(), Qt::Key_Return);
  EXPECT_TRUE(button.menu()->isVisible());
  EXPECT_EQ(timeline.filter().resources, (std::set<std::string>{"compute", "h2d"}));
  QTest::keyClick(button.menu(), Qt::Key_Escape);
  EXPECT_FALSE(button.menu()->isVisible());
}

}  // namespace
}  // namespace spillway::gui
