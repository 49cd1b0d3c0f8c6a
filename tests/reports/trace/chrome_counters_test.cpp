#include "reports/trace/chrome_counters.hpp"
#include "reports/trace/chrome_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace spillway::reports {
namespace {

using nlohmann::json;
using result::Trace;
using Values = std::map<std::int64_t, std::int64_t>;

TEST(MemoryCounters, FollowEachPurposeOfATier) {
  Trace trace;
  trace.buffers = {{"gpu 0", 0, "weights", "init", 60, 64, false, 0, 2.0},
                   {"gpu 0", 0, "weights", "init", 30, 32, false, 1, 2.0},
                   {"host", 0, "weights", "init", 8, 8, false, 1, std::nullopt}};
  const auto counters = memory_counters(trace);
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0].name, "gpu 0 weights");
  EXPECT_EQ(counters[0].values, (Values{{0, 64}, {1'000'000'000, 96}, {2'000'000'000, 0}}));
  EXPECT_EQ(counters[1].name, "host weights");
}

TEST(WorkCounters, SumTheRatesOfTransfersThatRunTogether) {
  Trace trace;  // 100 B in 1 s, and 100 B in 0.5 s beside its second half
  trace.spans = {{"nvme", "read weights", "forward", 0, 1, 100, "", 1},
                 {"nvme", "read weights", "forward", 0.5, 1, 100, "", 2}};
  const auto counters = work_counters(trace);
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].name, "nvme rate");
  EXPECT_EQ(counters[0].values, (Values{{0, 100}, {500'000'000, 300}, {1'000'000'000, 0}}));
}

TEST(WorkCounters, CountAGpuOnceWhateverRunsOnIt) {
  Trace trace;
  trace.spans = {{"rank 0 compute", "matmul", "forward", 0, 2, 0, "", 1},
                 {"rank 0 side", "sum", "forward", 1, 3, 0, "", 2},
                 {"rank 1 compute", "matmul", "forward", 1, 2, 0, "", 3}};
  const auto counters = work_counters(trace);
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].name, "GPUs busy");
  EXPECT_EQ(counters[0].values,
            (Values{{0, 1}, {1'000'000'000, 2}, {2'000'000'000, 1}, {3'000'000'000, 0}}));
}

TEST(ChromeTrace, DrawsAnArrowFromAStoreToItsLoad) {
  Trace trace;
  trace.spans = {{"nvme", "write activations", "forward", 0, 1, 10, "", 1},
                 {"nvme", "read activations", "backward", 2, 3, 10, "", 2, 2, 1, 1}};
  std::ostringstream out;
  write_chrome_trace(out, trace);
  std::vector<json> flows;
  const json all = json::parse(out.str());
  for (const json& event : all["traceEvents"])
    if (event["ph"] == "s" || event["ph"] == "f") flows.push_back(event);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0]["ph"], "s");
  EXPECT_EQ(flows[0]["ts"], 1e6);  // microseconds: the end of the write
  EXPECT_EQ(flows[1]["ph"], "f");
  EXPECT_EQ(flows[1]["ts"], 2e6);  // the start of the read
  EXPECT_EQ(flows[0]["id"], flows[1]["id"]);
}

}  // namespace
}  // namespace spillway::reports
