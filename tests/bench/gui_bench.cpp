// What the application may take: a frame of the timeline, a trace of 50 MB, points of a space, a
// move of a slider.
#include "gui/app/window.hpp"
#include "gui/chart/palette.hpp"
#include "gui/chart/parallel.hpp"
#include "gui/chart/scatter.hpp"
#include "gui/chart/timeline_paint.hpp"
#include "gui/model/trace_file.hpp"

#include <benchmark/benchmark.h>
#include <QApplication>
#include <QElapsedTimer>
#include <QImage>

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

namespace spillway::gui {
namespace {

/// An application without a display, for fonts and palettes.
void need_application() {
  static int count = 1;
  static char name[] = "gui_bench";
  static char* words[] = {name, nullptr};
  qputenv("QT_QPA_PLATFORM", "offscreen");
  // It stays until the process has ended: Qt's own objects go before those of this function.
  [[maybe_unused]] static const auto* const application = new QApplication(count, words);
}

/// Slices of a training step's mix over 8 resources.
Trace trace_of(std::int64_t slices) {
  TraceBuilder builder;
  static constexpr const char* phases[] = {"forward", "backward", "update"};
  for (std::int64_t i = 0; i < slices; ++i)
    builder.slice(1, i % 8, "layers." + std::to_string(i / 8 % 80) + ".matmul",
                  phases[3 * i / slices], 1000 * i, 1000 * i + 7000, 1 << 20);
  for (std::int64_t i = 0; i < slices / 10; ++i)
    builder.sample("gpu 0 memory", i % 2 == 0 ? "weights" : "gradients", 10000 * i,
                   1000 * (i % 97));
  return builder.finish();
}

/// Frames of 1600 x 900 while the view moves by a tenth of what it shows.
///   range(0)  slices   range(1)  how many times the whole is magnified
void pan(benchmark::State& state) {
  need_application();
  const Trace trace = trace_of(state.range(0));
  TimelineLook look;
  look.trace = &trace;
  look.rows = timeline_rows(trace, std::vector<char>(trace.tracks.size(), 0));
  look.palette = program_palette(false);
  look.font = QApplication::font();
  look.area = QRect(0, 0, 1600, 900);
  const double whole = static_cast<double>(trace.end) * 1e-9;
  const double span = whole / static_cast<double>(state.range(1));
  QImage image(1600, 900, QImage::Format_ARGB32_Premultiplied);
  double from = 0;
  for (auto _ : state) {
    look.axis = Axis(from, from + span, TimelineLook::gutter, 1600);
    QPainter painter(&image);
    paint_timeline(painter, look);
    from = from + span / 10 > whole - span ? 0 : from + span / 10;
  }
  state.counters["fps"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(pan)
    ->Args({100'000, 1})
    ->Args({100'000, 20})
    ->Args({1'000'000, 1})
    ->Args({1'000'000, 50})
    ->Unit(benchmark::kMillisecond);

/// A trace of 50 MB, from its text to what a painter reads.
void read_50_mb(benchmark::State& state) {
  std::ostringstream text;
  text << "[";
  std::int64_t i = 0;
  for (; text.tellp() < 50'000'000; ++i)
    text << (i > 0 ? ",\n" : "") << R"({"ph":"X","pid":1,"tid":)" << i % 8 << R"(,"ts":)" << 10 * i
         << R"(.125,"dur":9.875,"name":"layers.)" << i / 8 % 80
         << R"(.ffn.gate","cat":"forward","args":{"bytes":1048576}})";
  text << "]";
  const std::string file = text.str();
  for (auto _ : state) benchmark::DoNotOptimize(read_trace(file, "bench"));
  state.counters["slices"] = static_cast<double>(i);
}
BENCHMARK(read_50_mb)->Unit(benchmark::kMillisecond);

/// 100,000 points of a space, a hundred of them on its front.
void scatter(benchmark::State& state) {
  need_application();
  Scatter chart;
  chart.resize(1200, 700);
  std::vector<Scatter::Point> points;
  for (std::uint64_t i = 0; i < 100'000; ++i)
    points.push_back({static_cast<double>(i * 7919 % 100'003),
                      100'000 + static_cast<double>(i * 104'729 % 99'991), false, i});
  for (std::uint64_t i = 0; i < 100; ++i)  // a front: the more of one, the less of the other
    points.push_back(
        {1000. * static_cast<double>(i), 1e7 / (100. + static_cast<double>(i)), true, 100'000 + i});
  chart.set({"x", "x"}, {"y", "y"}, points);
  QImage image(1200, 700, QImage::Format_ARGB32_Premultiplied);
  for (auto _ : state) {
    QPainter painter(&image);
    chart.paint(painter, QRect(0, 0, 1200, 700));
  }
}
BENCHMARK(scatter)->Unit(benchmark::kMillisecond);

/// 100,000 points over six axes, a hundred of them on the front, while a brush moves.
void parallel(benchmark::State& state) {
  need_application();
  Parallel chart;
  chart.resize(1200, 400);
  std::vector<Parallel::Line> lines;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    Parallel::Line line{{}, i % 1000 == 0, i};
    for (const std::uint64_t prime : {7919, 104'729, 611'953, 15'485, 32'452, 49'979})
      line.values.push_back(static_cast<double>(i * prime % 99'991));
    lines.push_back(std::move(line));
  }
  std::vector<Dimension> dimensions;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) dimensions.push_back({name, name});
  chart.set(dimensions, lines);
  QImage image(1200, 400, QImage::Format_ARGB32_Premultiplied);
  double from = 0;
  for (auto _ : state) {
    from = from > 40'000 ? 0 : from + 1000;
    chart.set_ranges({{"b", {from, from + 50'000}}});
    QPainter painter(&image);
    chart.paint(painter, QRect(0, 0, 1200, 400));
  }
}
BENCHMARK(parallel)->Unit(benchmark::kMillisecond);

/// The time that 95 of 100 do not exceed.
double most_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() * 95 / 100];
}

/// Host memory moved a hundred times by a slider, in a scenario of 7,000 operations: until the
/// window is painted again, until the simulation's answer is there, and the longest turn of the
/// event loop.
void drag(benchmark::State& state) {
  need_application();
  Session session;
  Window window(session);
  window.show();
  std::vector<double> painted_ms, exact_ms, turns_ms;
  QElapsedTimer clock;
  const auto turn = [&] {
    QElapsedTimer own;
    own.start();
    QApplication::processEvents(QEventLoop::AllEvents);
    turns_ms.push_back(static_cast<double>(own.nsecsElapsed()) / 1e6);
  };
  Question question = session.question();
  question.system = "zero_infinity";
  question.box.memory_gib = 256;
  question.box.board = "workstation";
  session.change(question, "start");
  while (!window.idle()) turn();
  turns_ms.clear();
  for (auto _ : state)
    for (int i = 0; i < 100; ++i) {
      question.box.memory_gib = 256 + static_cast<std::uint64_t>(i % 7) * 16 + 8;
      clock.start();
      session.change(question, "memory", "memory");
      turn();
      window.repaint();
      painted_ms.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
      while (session.answer().approximate() && clock.elapsed() < 10'000) turn();
      exact_ms.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
    }
  if (!session.answer().fits()) state.SkipWithError("nothing was simulated");
  state.counters["painted_ms"] = most_of(painted_ms);
  state.counters["exact_ms"] = most_of(exact_ms);
  state.counters["turn_ms"] = *std::max_element(turns_ms.begin(), turns_ms.end());
}
BENCHMARK(drag)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway::gui
