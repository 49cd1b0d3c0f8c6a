#include "gui/model/trace_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::gui {
namespace {

using testing::Contains;

/// A read of 2 s at 1 GB/s, then the kernel that waits for it.
Trace waiting() {
  TraceBuilder builder;
  builder.process_name(1, "rank 0");
  builder.process_name(2, "node");
  builder.thread_name(1, 1, "compute");
  builder.thread_name(2, 2, "nvme");
  builder.slice(1, 1, "layers.3.attention", "forward", 0, 1'000'000'000, 0);
  builder.slice(2, 2, "layers.4.weights", "forward", 1'000'000'000, 3'000'000'000, 2'000'000'000);
  builder.slice(1, 1, "layers.4.attention", "forward", 3'000'000'000, 4'000'000'000, 0);
  return builder.finish();
}

TEST(TraceWords, SayWhatAnOperationWaitedFor) {
  const Trace trace = waiting();
  const SliceAt kernel{0, 0, 1};
  ASSERT_EQ(trace.name_of(kernel), "layers.4.attention");
  const auto cause = cause_of(trace, kernel);
  ASSERT_TRUE(cause);
  EXPECT_EQ(trace.name_of(*cause), "layers.4.weights");
  EXPECT_EQ(idle_before(trace, kernel), 2'000'000'000);
  EXPECT_THAT(words_of(trace, kernel),
              Contains("begins when layers.4.weights on node nvme ends, after 2.00 s idle"));
}

TEST(TraceWords, SayBytesAndTheirRate) {
  const Trace trace = waiting();
  EXPECT_THAT(words_of(trace, {1, 0, 0}), Contains("2.00 GB at 1.00 GB/s"));
}

TEST(TraceWords, PutOperationsOfAllLayersIntoOneKind) {
  EXPECT_EQ(kind_of("layers.12.ffn.gate"), "layers.*.ffn.gate");
  EXPECT_EQ(kind_of("h2d"), "h2d");
  EXPECT_EQ(kind_of("block 7 fp16"), "block * fp16");
}

TEST(TraceWords, CountTimeAndBytesInsideASpan) {
  // from 0.5 s to 2 s: half of the first kernel, one of two seconds of the read
  const auto rows = area_rows(waiting(), 500'000'000, 2'000'000'000);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].kind, "layers.*.weights");
  EXPECT_EQ(rows[0].time, 1'000'000'000);
  EXPECT_EQ(rows[1].time, 500'000'000);
}

TEST(TraceWords, FindTheNextMatchAndBeginAgain) {
  const Trace trace = waiting();
  const auto first = find_slice(trace, "ATTENTION", {}, false);
  ASSERT_TRUE(first);
  EXPECT_EQ(trace.name_of(*first), "layers.3.attention");
  const auto second = find_slice(trace, "attention", first, false);
  EXPECT_EQ(trace.name_of(*second), "layers.4.attention");
  EXPECT_EQ(find_slice(trace, "attention", second, false), first);
  EXPECT_EQ(find_slice(trace, "attention", first, true), second);
  EXPECT_FALSE(find_slice(trace, "nothing", {}, false));
}

}  // namespace
}  // namespace spillway::gui
