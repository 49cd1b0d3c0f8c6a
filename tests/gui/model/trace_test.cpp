#include "gui/model/trace_file.hpp"
#include "reports/trace/chrome_trace.hpp"
#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace spillway::gui {
namespace {

/// Two copies that overlap, a kernel, and 3 then 5 bytes of memory.
Trace small_trace() {
  TraceBuilder builder;
  builder.process_name(1, "rank 0");
  builder.thread_name(1, 1, "compute");
  builder.thread_name(1, 2, "h2d");
  builder.thread_name(1, 3, "h2d (2)");
  builder.slice(1, 1, "kernel", "forward", 200, 300, 0);
  builder.slice(1, 2, "copy.0", "forward", 0, 100, 10);
  builder.slice(1, 3, "copy.1", "forward", 50, 200, 20);
  builder.sample("gpu 0 memory", "weights", 0, 3);
  builder.sample("gpu 0 memory", "activations", 100, 2);
  return builder.finish();
}

TEST(Trace, PutsNumberedThreadsIntoTheLanesOfOneTrack) {
  const Trace trace = small_trace();
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(trace.tracks[0].title(), "rank 0 compute");
  EXPECT_EQ(trace.tracks[1].name, "h2d");
  EXPECT_EQ(trace.tracks[1].lanes.size(), 2u);
  EXPECT_EQ(trace.tracks[1].most_open, 2u);
  EXPECT_EQ(trace.slices, 3u);
  EXPECT_EQ(trace.end, 300);
}

TEST(Trace, CountsTimeInWhichAnythingIsOpenOnce) {
  const Trace trace = small_trace();
  EXPECT_EQ(trace.tracks[1].busy, 200);              // 0 to 100 and 50 to 200
  EXPECT_EQ(trace.tracks[1].covered(80, 120), 40);   // both
  EXPECT_EQ(trace.tracks[1].covered(150, 400), 50);  // to 200
  EXPECT_EQ(trace.tracks[0].covered(0, 250), 50);    // from 200
}

TEST(Trace, FindsWhatALaneCoversOfAColumnOfPixels) {
  TraceBuilder builder;
  for (int i = 0; i < 1000; ++i) builder.slice(0, 0, "a", "", 10 * i, 10 * i + 4, 0);
  const Trace trace = builder.finish();
  const Lane& lane = trace.tracks[0].lanes[0];
  EXPECT_EQ(lane.covered(0, 10000), 4000);
  EXPECT_EQ(lane.covered(2, 12), 4);  // 2 of the first, 2 of the second
  EXPECT_EQ(lane.covered(4, 10), 0);
  EXPECT_EQ(lane.first_after(4), 1u);
}

TEST(Trace, SumsTheSeriesOfACounter) {
  const Trace trace = small_trace();
  ASSERT_EQ(trace.counters.size(), 1u);
  EXPECT_EQ(trace.counters[0].total.peak, 5u);
  EXPECT_EQ(trace.counters[0].peak_at, 100);
  EXPECT_EQ(trace.counters[0].total.at(99), 3u);
  EXPECT_EQ(trace.counters[0].series[0].name, "weights");
}

TEST(Trace, StacksTheCountersOfATiersPurposes) {
  TraceBuilder builder;
  builder.sample("gpu 0 memory", "bytes", 0, 7);
  builder.sample("gpu 0 weights", "bytes", 0, 3);
  builder.sample("gpu 0 gradients", "bytes", 0, 4);
  builder.sample("nvme rate", "bytes_per_s", 0, 100);
  const Trace trace = builder.finish();
  ASSERT_EQ(trace.counters.size(), 2u);
  EXPECT_EQ(trace.counters[0].name, "gpu 0 memory");
  ASSERT_EQ(trace.counters[0].series.size(), 2u);
  EXPECT_EQ(trace.counters[0].series[0].name, "gradients");
  EXPECT_EQ(trace.counters[0].total.peak, 7u);  // 3 + 4, not 14
  EXPECT_EQ(trace.counters[1].unit, "bytes_per_s");
}

TEST(Trace, TakesWhatTheMachineHasForItsTiers) {
  TraceBuilder builder;
  builder.sample("gpu 0 memory", "bytes", 0, 7);
  builder.sample("host memory", "bytes", 0, 3);
  builder.sample("nvme rate", "bytes_per_s", 0, 100);
  Trace trace = builder.finish();
  put_capacities(trace, 24, 64);
  EXPECT_EQ(trace.counters[0].capacity, 24u);
  EXPECT_EQ(trace.counters[1].capacity, 64u);
  EXPECT_EQ(trace.counters[2].capacity, 0u);
}

TEST(Trace, ReadsWhatTheProgramWrites) {
  result::Trace written;
  written.spans.push_back({"rank 0 compute", "kernel", "forward", 1.5, 2.0, 0});
  written.spans.push_back({"nvme", "read", "forward", 0.25, 1.5, 7});
  written.samples.push_back({"host memory", 0.5, 1024});
  std::ostringstream text;
  reports::write_chrome_trace(text, written);
  const Trace trace = read_trace(text.str(), "a.json");
  ASSERT_EQ(trace.tracks.size(), 2u);
  const Slice& read = trace.tracks[1].lanes[0].slices[0];
  EXPECT_EQ(read.start, 250'000'000);
  EXPECT_EQ(read.end, 1'500'000'000);
  EXPECT_EQ(read.bytes, 7u);
  EXPECT_EQ(trace.names[read.phase], "forward");
  EXPECT_EQ(trace.counters[0].total.peak, 1024u);
}

TEST(Trace, JoinsTheEndsOfAFlow) {
  const Trace trace = read_trace(
      R"([{"ph":"X","pid":1,"tid":1,"ts":0,"dur":2,"name":"store"},
          {"ph":"X","pid":1,"tid":2,"ts":5,"dur":2,"name":"load"},
          {"ph":"s","pid":1,"tid":1,"ts":2,"id":7,"cat":"c","name":"f"},
          {"ph":"f","pid":1,"tid":2,"ts":5,"id":7,"cat":"c","name":"f"}])",
      "a.json");
  ASSERT_EQ(trace.flows.size(), 1u);
  EXPECT_EQ(trace.name_of(trace.flows[0].from), "store");
  EXPECT_EQ(trace.name_of(trace.flows[0].to), "load");
}

TEST(Trace, EndsAnArrowAtTheLoadThatBeginsWhereAnotherEnds) {
  // on thread 1 two stores touch at 2, on thread 2 two loads at 7; another lane is open at both
  const Trace trace = read_trace(
      R"json([{"ph":"X","pid":1,"tid":1,"ts":0,"dur":2,"name":"store a"},
          {"ph":"X","pid":1,"tid":1,"ts":2,"dur":2,"name":"store b"},
          {"ph":"X","pid":1,"tid":2,"ts":5,"dur":2,"name":"load b"},
          {"ph":"X","pid":1,"tid":2,"ts":7,"dur":2,"name":"load a"},
          {"ph":"X","pid":1,"tid":3,"ts":0,"dur":9,"name":"other"},
          {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"nvme"}},
          {"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"nvme (2)"
}
},
          {"ph":"s","pid":1,"tid":1,"ts":2,"id":7,"cat":"c","name":"f"},
          {"ph":"f","pid":1,"tid":2,"ts":7,"id":7,"cat":"c","name":"f"}])json",
      "a.json");
  ASSERT_EQ(trace.flows.size(), 1u);
  EXPECT_EQ(trace.name_of(trace.flows[0].from), "store a");
  EXPECT_EQ(trace.name_of(trace.flows[0].to), "load a");
}

TEST(Trace, JoinsAFlowInsideBars) {
  const Trace trace = read_trace(
      R"([{"ph":"X","pid":1,"tid":1,"ts":0,"dur":4,"name":"store"},
          {"ph":"X","pid":1,"tid":2,"ts":5,"dur":4,"name":"load"},
          {"ph":"s","pid":1,"tid":1,"ts":2,"id":7,"cat":"c","name":"f"},
          {"ph":"f","pid":1,"tid":2,"ts":6,"id":7,"cat":"c","name":"f"},
          {"ph":"s","pid":1,"tid":1,"ts":20,"id":8,"cat":"c","name":"f"},
          {"ph":"f","pid":1,"tid":2,"ts":6,"id":8,"cat":"c","name":"f"}])",
      "a.json");
  ASSERT_EQ(trace.flows.size(), 1u);  // the second leaves where nothing is
  EXPECT_EQ(trace.name_of(trace.flows[0].to), "load");
}

TEST(Trace, ReadsPairsOfBeginAndEnd) {
  const Trace trace = read_trace(
      R"({"traceEvents":[{"ph":"B","pid":1,"tid":1,"ts":1,"name":"a"},
                         {"ph":"E","pid":1,"tid":1,"ts":4}]})",
      "a.json");
  ASSERT_EQ(trace.slices, 1u);
  EXPECT_EQ(trace.tracks[0].lanes[0].slices[0].length(), 3000);
}

TEST(Trace, ShowsWhatIsThereOfAFileThatBreaksOff) {
  const Trace trace =
      read_trace(R"([{"ph":"X","pid":1,"tid":1,"ts":0,"dur":2,"name":"a"},{"ph":"X",)", "a.json");
  EXPECT_EQ(trace.slices, 1u);
}

TEST(Trace, RefusesWhatHasNoEventsByName) {
  for (const char* text : {"", "{}", "[]", "hello", R"({"traceEvents":[]})", "[1,2,3]"}) {
    try {
      read_trace(text, "a.json");
      ADD_FAILURE() << text;
    } catch (const description::ScenarioError& error) {
      EXPECT_EQ(error.complaints()[0].file, "a.json") << text;
    }
  }
}

}  // namespace
}  // namespace spillway::gui
