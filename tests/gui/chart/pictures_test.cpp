// Charts against stored pictures, by the geometry of what is painted. With
// SPILLWAY_STORE_PICTURES=1 the tests store what they paint.
#include "gui/chart/palette.hpp"
#include "gui/chart/scatter.hpp"
#include "gui/chart/tier_bars.hpp"
#include "gui/chart/timeline_paint.hpp"
#include "gui/model/memory_tree.hpp"
#include "tests/gui/geometry.hpp"

#include <gtest/gtest.h>
#include <QApplication>
#include <QFile>
#include <QPainter>

namespace spillway::gui {
namespace {

void compare_with_stored(const char* name, const QStringList& shapes) {
  QFile file(QString("%1/tests/gui/pictures/%2.txt").arg(SPILLWAY_SOURCE_DIR, name));
  if (qEnvironmentVariableIsSet("SPILLWAY_STORE_PICTURES")) {
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write((shapes.join('\n') + "\n").toUtf8());
    return;
  }
  ASSERT_TRUE(file.open(QIODevice::ReadOnly)) << file.fileName().toStdString();
  QStringList expected = QString::fromUtf8(file.readAll()).split('\n');
  expected.removeLast();
  EXPECT_EQ(difference(expected, shapes), "") << name;
}

/// Two steps of a rank with copies that overlap, a drive, and what two tiers hold.
Trace two_steps() {
  TraceBuilder builder;
  builder.process_name(1, "rank 0");
  builder.process_name(2, "node");
  builder.thread_name(1, 1, "compute");
  builder.thread_name(1, 2, "h2d");
  for (int lane = 1; lane < 6; ++lane)
    builder.thread_name(1, 2 + lane, "h2d (" + std::to_string(lane + 1) + ")");
  builder.thread_name(2, 1, "steps");
  builder.thread_name(2, 2, "nvme");
  constexpr Instant ms = 1'000'000;
  for (int step = 0; step < 2; ++step) {
    const Instant at = 100 * step * ms;
    builder.slice(2, 1, "step " + std::to_string(step), "", at, at + 100 * ms, 0);
    for (int layer = 0; layer < 4; ++layer) {
      const std::string name = "layers." + std::to_string(layer) + ".ffn";
      const Instant from = at + 10 * layer * ms;
      builder.slice(1, 1, name, "forward", from + 5 * ms, from + 14 * ms, 0);
      builder.slice(1, 2 + layer, "copy " + name, "forward", from, from + (50 - 10 * layer) * ms,
                    1 << 20);
    }
    builder.slice(2, 2, "write states", "update", at + 60 * ms, at + 95 * ms, 1 << 24);
    for (int i = 0; i < 40; ++i)  // narrower than a pixel when all is shown
      builder.slice(1, 1, "adam", "update", at + 60 * ms + i * ms / 20,
                    at + 60 * ms + i * ms / 20 + ms / 40, 0);
    builder.sample("gpu 0 memory", "weights", at, 300);
    builder.sample("gpu 0 memory", "activations", at + 20 * ms, 500);
    builder.sample("gpu 0 memory", "activations", at + 50 * ms, 0);
  }
  builder.sample("host memory", "states", 0, 800);
  builder.flow_end("1", true, 2, 2, 95 * ms);
  builder.flow_end("1", false, 1, 2, 100 * ms);
  Trace trace = builder.finish();
  put_capacities(trace, 1000, 1000);
  return trace;
}

/// A look at all of the trace.
TimelineLook look_at(const Trace& trace, bool dark = false, char expanded = 0) {
  TimelineLook look;
  look.trace = &trace;
  look.rows = timeline_rows(trace, std::vector<char>(trace.tracks.size(), expanded));
  look.area = QRect(0, 0, 900, 520);
  look.axis = Axis(0, seconds(trace.end), TimelineLook::gutter, 900);
  look.palette = program_palette(dark);
  look.font = QFont("DejaVu Sans", 10);
  return look;
}

void compare_timeline(const char* name, const TimelineLook& look) {
  Geometry picture(look.area.size());
  QPainter painter(&picture);
  paint_timeline(painter, look);
  painter.end();
  compare_with_stored(name, picture.shapes());
}

TEST(Pictures, TimelineWhole) {
  const Trace trace = two_steps();
  compare_timeline("timeline_whole", look_at(trace));
}

TEST(Pictures, TimelineDark) {
  const Trace trace = two_steps();
  compare_timeline("timeline_dark", look_at(trace, true));
}

TEST(Pictures, TimelineZoomed) {
  const Trace trace = two_steps();
  TimelineLook look = look_at(trace);
  look.axis = Axis(0.058, 0.066, TimelineLook::gutter, 900);
  compare_timeline("timeline_zoomed", look);
}

TEST(Pictures, TimelineWithAllLanes) {
  const Trace trace = two_steps();
  compare_timeline("timeline_all_lanes", look_at(trace, false, 1));
}

TEST(Pictures, TimelineScrolled) {
  const Trace trace = two_steps();
  TimelineLook look = look_at(trace);
  look.scrolled = 60;
  compare_timeline("timeline_scrolled", look);
}

TEST(Pictures, TimelineWithASelectionAndItsArrow) {
  const Trace trace = two_steps();
  TimelineLook look = look_at(trace);
  ASSERT_EQ(trace.flows.size(), 1u);
  look.selected = trace.flows[0].to;
  compare_timeline("timeline_selected", look);
}

TEST(Pictures, TimelineMarkedAndSearched) {
  const Trace trace = two_steps();
  TimelineLook look = look_at(trace);
  look.marked = std::make_pair(instant(0.02), instant(0.08));
  for (const std::string& name : trace.names)
    look.matches.push_back(name.find("layers.1") != std::string::npos);
  compare_timeline("timeline_marked", look);
}

TEST(Pictures, TimelineOfNothing) {
  const Trace trace;
  TimelineLook look = look_at(trace);
  look.axis = Axis(0, 1, TimelineLook::gutter, 900);
  compare_timeline("timeline_empty", look);
}

void compare_front(const char* name, bool dark, std::uint64_t points) {
  Scatter chart;
  chart.setPalette(program_palette(dark));
  chart.resize(600, 400);
  std::vector<Scatter::Point> all;
  for (std::uint64_t i = 0; i < points; ++i)
    all.push_back(
        {100 + 10 * static_cast<double>(i), static_cast<double>(i * 37 % 50), i % 8 == 0, i});
  chart.set({"price_usd", "price", Quantity::dollars}, {"step_time_s", "step", Quantity::seconds},
            all);
  if (points > 0) chart.select(8);
  Geometry picture(chart.size());
  QPainter painter(&picture);
  chart.paint(painter, chart.rect());
  painter.end();
  compare_with_stored(name, picture.shapes());
}

TEST(Pictures, Front) { compare_front("front", false, 60); }
TEST(Pictures, FrontDark) { compare_front("front_dark", true, 60); }
TEST(Pictures, FrontOfNothing) { compare_front("front_empty", false, 0); }

void compare_tiers(const char* name, bool dark, bool approximate) {
  result::Result result;
  result.scenario = nlohmann::json::object();
  result.gpu = {20ull << 30, 24ull << 30, "backward", {}, {}, 0};
  result.gpu.by_purpose = {{"weights", 12ull << 30}, {"activations", 8ull << 30}};
  result.host = {50ull << 30, 64ull << 30, "update", {}, {}, 4ull << 30};
  result.host.by_purpose = {{"optimizer_states", 50ull << 30}};
  MemoryTree tree;
  tree.set(&result);
  TierBars bars;
  bars.setPalette(program_palette(dark));
  bars.set_model(&tree);
  bars.set_approximate(approximate);
  bars.resize(700, 180);
  Geometry picture(bars.size());
  QPainter painter(&picture);
  bars.paint(painter, bars.rect());
  painter.end();
  compare_with_stored(name, picture.shapes());
}

TEST(Pictures, Tiers) { compare_tiers("tiers", false, false); }
TEST(Pictures, TiersDark) { compare_tiers("tiers_dark", true, false); }
TEST(Pictures, TiersOfABound) { compare_tiers("tiers_bound", false, true); }

TEST(Pictures, DifferByAShapeAColourOrTwoPixels) {
  const QStringList one = {"rect 0 0 10 10 #ff000000"};
  EXPECT_EQ(difference(one, {"rect 0 1 10 9 #ff000000"}), "");
  EXPECT_NE(difference(one, {"rect 0 2 10 10 #ff000000"}), "");
  EXPECT_NE(difference(one, {"rect 0 0 10 10 #ff000001"}), "");
  EXPECT_NE(difference(one, {}), "");
  EXPECT_NE(difference(one, one + one), "");
}

}  // namespace
}  // namespace spillway::gui
