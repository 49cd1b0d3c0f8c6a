// Timelines above each other that show the same stretch of time.
#include "gui/chart/linked_timelines.hpp"
#include "gui/model/trace_words.hpp"
#include "tests/gui/sample_trace.hpp"

#include <gtest/gtest.h>
#include <QTest>

namespace spillway::gui {
namespace {

/// A trace that counts from the beginning of its step.
std::shared_ptr<const Trace> from_its_step(Instant step) {
  Trace trace = two_ranks(step);
  count_from(trace, steady_step(trace).first);
  return shared(std::move(trace));
}

/// A step of one second above one of four.
class Linked : public testing::Test {
 public:
  void SetUp() override {
    for (Timeline* one : {&short_, &long_}) {
      one->resize(900, 400);
      one->show();
      linked_.add(one);
    }
    linked_.set_trace(&short_, from_its_step(one_second));
    linked_.set_trace(&long_, from_its_step(4 * one_second));
  }
  void expect_one_axis() {
    EXPECT_DOUBLE_EQ(short_.axis().from(), long_.axis().from());
    EXPECT_DOUBLE_EQ(short_.axis().to(), long_.axis().to());
    EXPECT_DOUBLE_EQ(short_.axis().low(), long_.axis().low());
    EXPECT_DOUBLE_EQ(short_.axis().high(), long_.axis().high());
  }

  Timeline short_, long_;
  LinkedTimelines linked_;
};

TEST(Trace, CountsFromAnotherInstant) {
  const Trace before = two_ranks();
  Trace trace = before;
  count_from(trace, one_second);
  EXPECT_EQ(trace.begin, -one_second);
  EXPECT_EQ(trace.end, before.end - one_second);
  EXPECT_EQ(steady_step(trace), std::make_pair(Instant{0}, one_second));
  EXPECT_EQ(trace.counters[0].peak_at, before.counters[0].peak_at - one_second);
  EXPECT_EQ(trace.counters[0].total.at(-1), before.counters[0].total.at(one_second - 1));
  for (std::size_t i = 0; i < trace.tracks.size(); ++i)
    EXPECT_EQ(trace.tracks[i].covered(-one_second / 2, one_second / 3),
              before.tracks[i].covered(one_second / 2, one_second + one_second / 3));
}

TEST_F(Linked, BeginAtTheirStepsAndShowTheLongest) {
  expect_one_axis();
  EXPECT_LT(short_.axis().from(), 0);
  EXPECT_GT(short_.axis().from(), -0.2);
  EXPECT_GT(short_.axis().to(), 4);
}

TEST_F(Linked, PanAndZoomOfOneMovesAll) {
  QTest::keyClick(&short_, Qt::Key_W);
  expect_one_axis();
  const double from = long_.axis().from();
  QTest::keyClick(&long_, Qt::Key_D);
  EXPECT_GT(long_.axis().from(), from);
  expect_one_axis();
  short_.set_axis(Axis(2, 3, 0, 1));  // past the end of the short run
  EXPECT_NEAR(short_.axis().from(), 2, 1e-9);
  expect_one_axis();
}

TEST_F(Linked, AMarkedSpanAndThePointerAreInAll) {
  short_.mark(std::make_pair(one_second / 4, one_second / 2));
  EXPECT_EQ(long_.marked(), short_.marked());
  long_.set_cursor(one_second);
  EXPECT_EQ(short_.cursor(), one_second);
  QTest::keyClick(&long_, Qt::Key_Escape);
  EXPECT_FALSE(short_.marked());
}

TEST_F(Linked, ATraceThatComesLaterMovesNobody) {
  short_.set_axis(Axis(0.25, 0.5, 0, 1));
  short_.mark(std::make_pair(one_second / 4, one_second / 2));
  linked_.set_trace(&long_, from_its_step(2 * one_second));
  EXPECT_NEAR(short_.axis().from(), 0.25, 1e-9);
  EXPECT_EQ(long_.marked(), short_.marked());
  expect_one_axis();
}

TEST_F(Linked, OneThatEndsLeavesTheOthers) {
  {
    Timeline third;
    linked_.add(&third);
    linked_.set_trace(&third, from_its_step(9 * one_second));
  }
  EXPECT_EQ(linked_.all().size(), 2u);
  linked_.fit();
  EXPECT_LT(long_.axis().to(), 5);
  expect_one_axis();
}

}  // namespace
}  // namespace spillway::gui
