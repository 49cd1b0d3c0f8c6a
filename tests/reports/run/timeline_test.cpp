#include "reports/run/timeline.hpp"
#include "tests/reports/samples.hpp"

#include <gtest/gtest.h>

namespace spillway::reports {
namespace {

using result::Trace;

/// A step of 2 s after a set-up of 1 s: a read that waited for a write, and a copy of what was
/// read.
Trace two_seconds() {
  Trace trace;
  trace.spans = {{"steps", "set-up", "", 0, 1, 0},
                 {"steps", "step 1", "", 1, 3, 0},
                 {"nvme", "write activations", "forward", 1, 1.5, 100, "", 4, 1, 0, 0},
                 {"nvme", "read activations", "backward", 2, 2.5, 100, "", 7, 1.25, 4, 4},
                 {"rank 0 h2d", "copy activations", "backward", 2.5, 2.75, 100, "", 9, 2.5, 7, 7}};
  trace.buffers = {{"gpu 0", 0, "weights", "init", 60, 64, false, 0.5, std::nullopt},
                   {"gpu 0", 0, "activations", "forward", 30, 32, false, 1.5, 2.0},
                   {"host", 0, "process_base", "init", 10, 10, false, 0, std::nullopt}};
  return trace;
}

TEST(Timeline, ShowsTheLastStepFromItsBeginning) {
  const Trace trace = two_seconds();
  const auto window = last_step(trace);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first_s, 1);
  const view::Lanes lanes = timeline(trace, *window);
  ASSERT_EQ(lanes.slices.size(), 3u);  // without the steps themselves
  EXPECT_EQ(lanes.last_s, 2);
  EXPECT_EQ(lanes.lanes[0].group + "/" + lanes.lanes[0].title, "rank 0/host to GPU");
  EXPECT_EQ(lanes.lanes[1].group + "/" + lanes.lanes[1].title, "node/nvme");
}

TEST(Timeline, SaysWhatEachOperationWaitedForAndWhoseDataItMoves) {
  const Trace trace = two_seconds();
  const view::Lanes lanes = timeline(trace, *last_step(trace));
  const view::Slice &copy = lanes.slices[0], &write = lanes.slices[1], &read = lanes.slices[2];
  EXPECT_EQ(write.after, view::Slice::none);
  EXPECT_EQ(read.after, 1u);  // the write
  EXPECT_EQ(read.from, 1u);
  EXPECT_EQ(copy.after, 2u);                            // the read
  EXPECT_DOUBLE_EQ(read.start_s - read.asked_s, 0.75);  // asked for at 1.25, started at 2
}

TEST(Timeline, HasNoStepWhereTheTraceHasNone) { EXPECT_FALSE(last_step(Trace{})); }

TEST(MemoryOverTime, IsByPurposeFromWhatWasThereBefore) {
  result::Result r = sample_that_fits();
  const Trace trace = two_seconds();
  const auto series = memory_over_time(r, trace, *last_step(trace));
  ASSERT_EQ(series.size(), 2u);  // the GPU, then the host
  EXPECT_EQ(series[0].title, "GPU memory, rank 0");
  ASSERT_EQ(series[0].curves.size(), 3u);
  // as at the peak of the result: 12 GiB of activations, 6 of weights
  EXPECT_EQ(series[0].curves[1].label, "weights");  // 60 bytes from the beginning on
  ASSERT_EQ(series[0].curves[1].samples.size(), 1u);
  EXPECT_EQ(series[0].curves[1].samples[0].at, 0);
  EXPECT_EQ(series[0].curves[1].samples[0].value, 60);
  const auto& activations = series[0].curves[0].samples;  // from 0.5 to 1.0 s of the step
  ASSERT_EQ(activations.size(), 2u);
  EXPECT_EQ(activations[0].at, 0.5);
  EXPECT_EQ(activations[0].value, 30);
  EXPECT_EQ(activations[1].at, 1.0);
  EXPECT_EQ(activations[1].value, 0);
  EXPECT_EQ(series[0].curves[2].label, "gpu rounding");  // 4, and 2 more meanwhile
  EXPECT_EQ(series[0].curves[2].samples[1].value, 6);
  EXPECT_EQ(series[0].limit->value, 24.0 * gib);
}

}  // namespace
}  // namespace spillway::reports
