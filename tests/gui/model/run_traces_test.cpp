// Timelines of several runs: each is worked out once, and only while somebody wants it.
#include "gui/model/run_traces.hpp"
#include "gui/model/session.hpp"
#include "gui/model/trace_words.hpp"
#include "tests/gui/script.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QFile>

namespace spillway::gui {
namespace {

/// The result of the tiny example.
const result::Result& tiny_result() {
  static const result::Result result = [] {
    Session session;
    session.open({SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json"});
    until([&] { return session.idle() && session.answer().result; });
    return session.answer().result.value_or(result::Result());
  }();
  return result;
}

TEST(RunTraces, CountFromTheBeginningOfTheLastStep) {
  RunTraces traces;
  ASSERT_TRUE(RunTraces::has_scenario(tiny_result()));
  EXPECT_EQ(traces.of(tiny_result().scenario), nullptr);
  traces.ask({&tiny_result()});
  EXPECT_TRUE(traces.busy());
  ASSERT_TRUE(until([&] { return !traces.busy(); }));
  const RunTrace* run = traces.of(tiny_result().scenario);
  ASSERT_TRUE(run && run->trace) << run->failure.toStdString();
  const auto [from, to] = steady_step(*run->trace);
  EXPECT_EQ(from, 0);
  EXPECT_NEAR(seconds(to), tiny_result().step_time_s, 1e-4);  // the mean of all steps
  EXPECT_LT(run->trace->begin, 0);                            // the set-up
  ASSERT_EQ(run->trace->counters[0].name, "gpu 0 memory");
  EXPECT_EQ(run->trace->counters[0].capacity, tiny_result().gpu.capacity);
}

TEST(RunTraces, WorkOutAScenarioOnceAndKeepIt) {
  RunTraces traces;
  const result::Result again = tiny_result();
  traces.ask({&tiny_result(), &again});
  ASSERT_TRUE(until([&] { return !traces.busy(); }));
  const auto trace = traces.of(tiny_result().scenario)->trace;
  ASSERT_TRUE(trace);
  traces.keep_only({&again});
  traces.ask({&again});
  EXPECT_FALSE(traces.busy());
  EXPECT_EQ(traces.of(again.scenario)->trace, trace);
  traces.keep_only({});
  EXPECT_EQ(traces.of(tiny_result().scenario), nullptr);
}

TEST(RunTraces, ForgetWhatNobodyWantsAnyMore) {
  RunTraces traces;
  int changes = 0;
  QObject::connect(&traces, &RunTraces::changed, [&] { ++changes; });
  traces.ask({&tiny_result()});
  traces.keep_only({});
  EXPECT_FALSE(traces.busy());
  result::Result other = tiny_result();
  other.scenario["name"] = "other";
  traces.ask({&other});  // is answered after what was cancelled
  ASSERT_TRUE(until([&] { return !traces.busy(); }));
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(traces.of(tiny_result().scenario), nullptr);
}

TEST(RunTraces, AskNothingOfAResultWithoutItsScenario) {
  const Script program("#!/bin/sh\ntouch \"$0.started\"\n");
  RunTraces traces(program.path());
  result::Result bare;
  bare.system = "zero_infinity";
  EXPECT_FALSE(RunTraces::has_scenario(bare));
  traces.ask({&bare});
  EXPECT_FALSE(traces.busy());
  EXPECT_FALSE(QFile::exists(program.path() + ".started"));
}

TEST(RunTraces, SayWhyThereIsNone) {
  RunTraces traces;
  result::Result wrong = tiny_result();
  wrong.scenario["training"]["micro_batch"] = "many";
  traces.ask({&wrong});
  ASSERT_TRUE(until([&] { return !traces.busy(); }));
  const RunTrace* run = traces.of(wrong.scenario);
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->trace);
  EXPECT_TRUE(run->failure.contains("micro_batch")) << run->failure.toStdString();
}

TEST(RunTraces, SayThatAProgramEnded) {
  const Script program("#!/bin/sh\nexit 3\n");
  RunTraces traces(program.path());
  traces.ask({&tiny_result()});
  ASSERT_TRUE(until([&] { return !traces.busy(); }));
  EXPECT_FALSE(traces.of(tiny_result().scenario)->failure.isEmpty());
}

}  // namespace
}  // namespace spillway::gui
