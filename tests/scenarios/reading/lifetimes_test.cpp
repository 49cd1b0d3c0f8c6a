#include "scenarios/reading/lifetimes_file.hpp"
#include "scenarios/trace/import_trace.hpp"
#include "tests/scenarios/complaints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::scenarios {
namespace {

using namespace strategies::planner;
using ::testing::HasSubstr;

Lifetimes small() {
  Lifetimes lifetimes;
  lifetimes.kernels = {{"gemm, \"large\"", 0, 0.001, 7}, {"add", 0.001, 0.0005, 7}};
  lifetimes.tensors = {
      {3, 4096, TensorKind::weight, true, {{0, 0, true, false}, {1, 1, true, true}}},
      {9, 100, TensorKind::activation, false, {{0, 1, false, true}}}};
  return lifetimes;
}

TEST(Lifetimes, AreReadAsTheyWereWritten) {
  for (const bool partial : {false, true}) {
    Lifetimes lifetimes = small();
    lifetimes.partial = partial;
    const LifetimesText text = write_lifetimes(lifetimes);
    EXPECT_THAT(text.tensors, HasSubstr("3,4096,weight,1,0-0:r;1-1:rw\n"));
    EXPECT_EQ(parse_lifetimes(text, "p.csv"), lifetimes);
  }
}

TEST(Lifetimes, SayInWhichRowWhatIsWrong) {
  LifetimesText text = write_lifetimes(small());
  text.tensors = "id,bytes,kind,persistent,active\n1,0,weight,1,0-0:r\n2,x,wight,2,0:r\n";
  const std::string all = complaints_of([&] { parse_lifetimes(text, "p.csv"); });
  EXPECT_THAT(all, HasSubstr("p.csv:3"));
  EXPECT_THAT(all, HasSubstr("no kind \"wight\""));
  EXPECT_THAT(all, HasSubstr("\"0:r\" is no range"));
  text.tensors = "id,bytes,kind,persistent,active\n1,0,weight,1,0-5:r\n";
  const std::string faults = complaints_of([&] { parse_lifetimes(text, "p.csv"); });
  EXPECT_THAT(faults, HasSubstr("p.csv:2"));
  EXPECT_THAT(faults, HasSubstr("no bytes"));
  EXPECT_THAT(faults, HasSubstr("does not exist"));
}

/// Two operators of one kernel each; 64 bytes live from the first to the second.
constexpr const char* trace = R"({"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 5,
   "args": {"External id": 10, "Record function id": 1}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::add_", "ts": 6, "dur": 5,
   "args": {"External id": 11, "Record function id": 2}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 2, "dur": 1,
   "args": {"correlation": 100}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 7, "dur": 1,
   "args": {"correlation": 101}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10, "dur": 20,
   "args": {"External id": 10, "correlation": 100, "device": 0, "stream": 7}},
  {"ph": "X", "cat": "kernel", "name": "add", "ts": 50, "dur": 5,
   "args": {"External id": 11, "correlation": 101, "device": 0, "stream": 7}},
  {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 1,
   "args": {"Addr": 4096, "Bytes": 64, "Device Type": 1, "Device Id": 0}},
  {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 9,
   "args": {"Addr": 4096, "Bytes": -64, "Device Type": 1, "Device Id": 0}}
]})";

constexpr const char* execution = R"({"nodes": [
  {"id": 1, "name": "aten::mm", "attrs": [{"name": "rf_id", "type": "uint64", "value": 1}],
   "inputs": {"values": [[5, 50, 0, 4, 4, "cuda:0"], [6, 60, 0, 4, 4, "cpu"]]},
   "outputs": {"values": [[7, 70, 0, 16, 4, "cuda:0"]]}},
  {"id": 2, "name": "aten::add_", "rf_id": 2,
   "inputs": [[[8, 70, 8, 4, 4, "cuda:0"]]], "outputs": [[7, 70, 0, 16, 4, "cuda:0"]]}
]})";

TEST(Trace, AloneGivesBirthsAndDeathsAndIsPartial) {
  const ImportedTrace imported = import_trace(trace, "t.json", "", "");
  EXPECT_TRUE(imported.lifetimes.partial);
  ASSERT_EQ(imported.lifetimes.tensors.size(), 1u);
  EXPECT_EQ(imported.lifetimes.tensors[0].bytes, 64u);
  EXPECT_EQ(imported.lifetimes.tensors[0].active.front().first, 0u);
  EXPECT_EQ(imported.lifetimes.tensors[0].active.back().last, 1u);
  EXPECT_TRUE(faults_of(imported.lifetimes).empty());
  EXPECT_FALSE(imported.notes.empty());
}

TEST(Trace, WithAnExecutionTraceIsComplete) {
  const ImportedTrace imported = import_trace(trace, "t.json", execution, "e.json");
  EXPECT_FALSE(imported.lifetimes.partial);
  ASSERT_EQ(imported.lifetimes.tensors.size(), 2u);  // the one of the host is none of the GPU's
  const LifetimeTensor &input = imported.lifetimes.tensors[0],
                       &result = imported.lifetimes.tensors[1];
  EXPECT_EQ(input.id, 50u);
  EXPECT_TRUE(input.persistent);  // read before anybody wrote it
  EXPECT_EQ(result.id, 70u);
  EXPECT_EQ(result.bytes, 64u);  // a view of it is the same row
  ASSERT_EQ(result.active.size(), 2u);
  EXPECT_FALSE(result.active[0].reads);
  EXPECT_TRUE(result.active[1].reads && result.active[1].writes);
}

TEST(Trace, GapsAreLeftOutUnlessTheyAreKept) {
  // 20 us, then 20 us of nothing, then 5 us
  const auto start = [](bool keep) {
    return import_trace(trace, "t.json", "", "", {keep, 0}).lifetimes.kernels[1].start_s;
  };
  EXPECT_NEAR(start(false), 20e-6, 1e-12);
  EXPECT_NEAR(start(true), 40e-6, 1e-12);
}

TEST(Trace, SaysWhatIsMissingAndHowToRecordIt) {
  EXPECT_THAT(complaints_of([] { import_trace("{\n \"traceEvents\": [", "t.json", "", ""); }),
              HasSubstr("t.json:2"));
  EXPECT_THAT(complaints_of([] { import_trace("{\"traceEvents\": []}", "t.json", "", ""); }),
              HasSubstr("ProfilerActivity.CUDA"));
  EXPECT_THAT(complaints_of([] {
                import_trace(R"([{"cat": "kernel", "ts": 1, "dur": 1}])", "t.json", "", "");
              }),
              HasSubstr("profile_memory=True"));
  EXPECT_THAT(complaints_of([] {
                import_trace(R"([{"cat": "kernel", "ts": 1, "name": "k"}])", "t.json", "", "");
              }),
              HasSubstr("traceEvents[0]"));
}

}  // namespace
}  // namespace spillway::scenarios
