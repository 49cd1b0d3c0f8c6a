#include "reports/trace/chrome_trace.hpp"

#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace spillway::reports {
namespace {

using nlohmann::json;
using result::Trace;
using testing::ElementsAre;

std::string text_of(const Trace& trace) {
  std::ostringstream out;
  write_chrome_trace(out, trace);
  return out.str();
}

std::vector<json> events_of(const Trace& trace, const std::string& kind) {
  std::vector<json> events;
  const json whole = json::parse(text_of(trace));
  for (const json& event : whole.at("traceEvents"))
    if (event.at("ph") == kind) events.push_back(event);
  return events;
}

/// "rank 0/compute" of every thread, in the order of their sort index.
std::vector<std::string> threads_of(const Trace& trace) {
  std::map<int, std::string> processes;
  std::vector<std::string> threads;
  for (const json& event : events_of(trace, "M")) {
    if (event.at("name") == "process_name")
      processes[event.at("pid")] = event.at("args").at("name");
    if (event.at("name") == "thread_name")
      threads.push_back(processes.at(event.at("pid")) + "/" +
                        event.at("args").at("name").get<std::string>());
  }
  return threads;
}

TEST(ChromeTrace, OfNothingIsStillATrace) {
  EXPECT_EQ(json::parse(text_of({})).at("traceEvents"), json::array());
}

TEST(ChromeTrace, GivesEachRankAProcessAndEachEngineAThread) {
  const Trace trace{{{"cpu", "adam", "update", 0, 1, 0},
                     {"rank 10 compute", "k", "forward", 0, 1, 0},
                     {"rank 2 d2h", "k", "forward", 0, 1, 0},
                     {"rank 2 collective", "k", "forward", 0, 1, 0},
                     {"rank 2 h2d", "k", "forward", 0, 1, 0},
                     {"rank 2 side", "k", "forward", 0, 1, 0},
                     {"rank 2 compute", "k", "forward", 0, 1, 0},
                     {"rank x", "k", "forward", 0, 1, 0},
                     {"nvme", "read", "forward", 0, 1, 0}},
                    {}};
  EXPECT_THAT(threads_of(trace), ElementsAre("rank 2/compute", "rank 2/side", "rank 2/h2d",
                                             "rank 2/d2h", "rank 2/collective", "rank 10/compute",
                                             "node/cpu", "node/nvme", "node/rank x"));
}

TEST(ChromeTrace, PutsOverlappingBarsOntoLanes) {
  const Trace trace{{{"nvme", "a", "forward", 0, 2, 0},
                     {"nvme", "b", "forward", 1, 3, 0},
                     {"nvme", "c", "forward", 1, 2, 0}},
                    {}};
  EXPECT_THAT(threads_of(trace), ElementsAre("node/nvme", "node/nvme (2)", "node/nvme (3)"));
  std::map<std::string, int> thread;
  for (const json& bar : events_of(trace, "X")) thread[bar.at("name")] = bar.at("tid");
  EXPECT_EQ(thread, (std::map<std::string, int>{{"a", 1}, {"b", 3}, {"c", 2}}));
}

TEST(ChromeTrace, WritesMicrosecondsWithDecimals) {
  // 1.25 us and 3.5 us: from 1.250 for 2.250
  const Trace trace{{{"cpu", "adam", "update", 1.25e-6, 3.5e-6, 42}}, {}};
  EXPECT_NE(text_of(trace).find(R"("ts":1.250,"dur":2.250,"name":"adam","cat":"update",)"
                                R"("args":{"bytes":42})"),
            std::string::npos);
}

TEST(ChromeTrace, CountsMemoryInTheOrderOfTime) {
  const Trace trace{{}, {{"host memory", 2, 5}, {"gpu 0 memory", 1, 7}, {"host memory", 0.5, 3}}};
  std::vector<std::string> found;
  for (const json& event : events_of(trace, "C"))
    found.push_back(event.at("name").get<std::string>() + " " + event.at("ts").dump() + " " +
                    event.at("args").at("bytes").dump());
  EXPECT_THAT(found, ElementsAre("gpu 0 memory 1000000.0 7", "host memory 500000.0 3",
                                 "host memory 2000000.0 5"));
}

TEST(ChromeTrace, EscapesWhatJsonCannotCarry) {
  const Trace trace{{{"cpu", "a \"b\"\n\xff", "", 0, 1, 0}}, {}};
  EXPECT_EQ(events_of(trace, "X").at(0).at("name"), "a \"b\"\n\ufffd");
}

TEST(ChromeTrace, RefusesTimesThatAreNone) {
  EXPECT_THROW(text_of({{{"cpu", "adam", "", 2, 1, 0}}, {}}), description::InternalError);
  EXPECT_THROW(text_of({{{"cpu", "adam", "", 0, std::numeric_limits<double>::quiet_NaN(), 0}}, {}}),
               description::InternalError);
}

TEST(ChromeTrace, NeverDrawsBarsOfOneThreadThatOverlapInPart) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 40; ++round) {
    Trace trace;
    for (std::size_t n = random() % 60; n > 0; --n) {
      const double start = static_cast<double>(random() % 1000) * 1.3e-9;
      const double length = static_cast<double>(random() % 300) * 0.7e-9;
      const std::string track = random() % 2 ? "nvme" : "rank 0 h2d";
      trace.spans.push_back({track, "op", "forward", start, start + length, 1});
    }
    const std::vector<json> bars = events_of(trace, "X");
    ASSERT_EQ(bars.size(), trace.spans.size());
    for (const json& a : bars)
      for (const json& b : bars) {
        if (a.at("tid") != b.at("tid")) continue;
        const auto ns = [](const json& us) { return std::llround(us.get<double>() * 1000); };
        const auto a0 = ns(a.at("ts")), a1 = a0 + ns(a.at("dur"));
        const auto b0 = ns(b.at("ts")), b1 = b0 + ns(b.at("dur"));
        EXPECT_FALSE(a0 < b0 && b0 < a1 && a1 < b1) << a << b;
      }
    EXPECT_EQ(text_of(trace), text_of(trace));
  }
}

}  // namespace
}  // namespace spillway::reports
