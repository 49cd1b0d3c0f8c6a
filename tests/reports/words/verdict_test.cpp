#include "reports/words/verdict.hpp"
#include "reports/result/what_if.hpp"

#include "tests/reports/samples.hpp"

#include <gtest/gtest.h>

namespace spillway::reports {
namespace {

TEST(Verdict, NamesTheTiersThatAreTooSmallAndWhatFailedFirst) {
  EXPECT_EQ(verdict(sample_that_fits()), "yes");
  EXPECT_EQ(verdict(sample_that_does_not_fit()), "no: host; first gradient_flat_buffer in init");
  result::Result both = sample_that_does_not_fit();
  both.needed->gpu = 131 * gib;
  EXPECT_EQ(verdict(both), "no: gpu, host; first gradient_flat_buffer in init");
}

TEST(Verdict, OfARunThatStoppedKnowsTheFirstShortageOnly) {
  // asked 32 GiB, free 20 GiB
  EXPECT_EQ(verdict(sample_that_stopped()),
            "no: host, gradient_flat_buffer, at first 12.0 GiB short in init");
}

TEST(Verdict, SaysThatRoomIsInPiecesWhenEnoughIsFree) {
  result::Result result = sample_that_stopped();
  result.infeasible->free_bytes = 32 * gib;
  EXPECT_EQ(verdict(result),
            "no: host, gradient_flat_buffer, at first no 32.0 GiB in one piece in init");
}

TEST(Verdict, SaysThatACachingAllocatorRoundsBeyondWhatIsFree) {
  result::Result result = sample_that_stopped();
  result.infeasible->asked_bytes = 33 * gib;
  result.infeasible->free_bytes = 40 * gib;
  // 33 GiB take 64 GiB; 64 - 40 = 24
  EXPECT_EQ(
      verdict(result),
      "no: host, gradient_flat_buffer, at first 24.0 GiB short once rounded to a power of two in "
      "init");
  EXPECT_EQ(headline(result),
            "Does not fit: host memory has no room for gradient_flat_buffer of rank 1 in init, at "
            "first 24.0 GiB short once rounded to a power of two. It asks for 33.0 GiB and takes "
            "64.0 GiB "
            "where 40.0 GiB of 128.0 GiB are free.");
}

TEST(Verdict, SpeaksOfNoRoundingWhereTheRoundedBlockFits) {
  result::Result result = sample_that_stopped();
  result.infeasible->asked_bytes = 33 * gib;
  result.infeasible->free_bytes = 64 * gib;
  EXPECT_EQ(verdict(result),
            "no: host, gradient_flat_buffer, at first no 33.0 GiB in one piece in init");
}

TEST(Headline, IsTheAnswerInWords) {
  EXPECT_EQ(headline(sample_that_fits()),
            "Fits: 40.0 s per step, 1,638 tokens/s, 62.1 TFLOPS per GPU. It is limited by nvme.");
  EXPECT_EQ(headline(sample_that_does_not_fit()),
            "Does not fit: host memory needs 164.0 GiB and has 128.0 GiB, what stays free for the "
            "system included. The first that finds no room is gradient_flat_buffer of rank 1 in "
            "init, 12.0 GiB short: it asks for 32.0 GiB where 20.0 GiB are free.");
  EXPECT_EQ(headline(sample_that_stopped()),
            "Does not fit: host memory has no room for gradient_flat_buffer of rank 1 in init, "
            "at first 12.0 GiB short. It asks for 32.0 GiB where 20.0 GiB of 128.0 GiB are free.");
}

/// 40 s a step: one more drive makes it 30, which is more than the 40 of twice the host memory. The
/// busiest resource is nothing that the step is limited by.
TEST(LimitedBy, IsWhatTheBestWhatIfRelieves) {
  result::Result result = sample_that_fits();
  result.bottleneck = "gpu";
  EXPECT_EQ(result::limited_by(result), "nvme");
  result.next["twice the gpu rate"] = {29.0};
  EXPECT_EQ(result::limited_by(result), "gpu");
  result.next = {{"twice the gpu rate", {39.9}}, {"twice the cpu rate", {}}};  // 0.25 %, no room
  EXPECT_EQ(result::limited_by(result), "");
  EXPECT_EQ(headline(result),
            "Fits: 40.0 s per step, 1,638 tokens/s, 62.1 TFLOPS per GPU. Nothing alone limits it: "
            "no what-if makes it faster.");
}

TEST(Headline, CountsStorageAsDrivesAreSold) {
  result::Result result = sample_that_stopped();
  result.infeasible = {"ssd", 0, "optimizer_states", "init", 90 * gigabyte, 20 * gigabyte, 0};
  EXPECT_EQ(headline(result),
            "Does not fit: the SSD has no room for optimizer_states of rank 0 in init, "
            "at first 70.0 GB short. It asks for 90.0 GB where 20.0 GB are free.");
}

TEST(GpuUse, CountsRanksThatShareSamplesOrLayers) {
  result::Result run;
  run.scenario = {{"machine", {{"nodes", 1}, {"gpu", {{"count", 8}}}}},
                  {"parallel", {{"data", 2}, {"context", 2}, {"tensor", 1}, {"pipeline", 1}}}};
  EXPECT_EQ(gpu_use(run).used, 4u);
  EXPECT_EQ(gpu_use(run).all, 8u);
  run.scenario["parallel"].erase("context");  // of a result of before
  EXPECT_EQ(gpu_use(run).used, 2u);
}

TEST(ScenarioTitle, IsTheNameOrWhatStandsForIt) {
  EXPECT_EQ(scenario_title(sample_that_fits()), "7B on a small box");
  EXPECT_EQ(scenario_title(sample_that_does_not_fit()), "qwen2.5-7b on small_box");
  result::Result result;
  EXPECT_EQ(scenario_title(result), "");
  result.scenario = {{"name", ""}, {"model", "gpt2"}, {"machine", 3}};
  EXPECT_EQ(scenario_title(result), "gpt2");
}

}  // namespace
}  // namespace spillway::reports
