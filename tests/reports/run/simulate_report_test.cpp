#include "reports/run/simulate_report.hpp"

#include "reports/words/phases.hpp"
#include "reports/words/wear_words.hpp"
#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <sstream>

namespace spillway::reports {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(SimulateReport, BeginsWithTheAnswer) {
  EXPECT_THAT(simulate_report(sample_that_fits(), {100}),
              StartsWith("7B on a small box: memascend (simulated)\nFits: 40.0 s per step"));
}

TEST(SimulateReport, NamesTheBiggestBuffersOfEachTier) {
  EXPECT_THAT(simulate_report(sample_that_fits(), {200}),
              HasSubstr("host  64.0 GiB  128.0 GiB  50.0 %  update    gradient_flat_buffer 30.0 "
                        "GiB, parameter_pool 20.0 GiB, optimizer_swap_buffers 6.00 GiB, "
                        "pinned_rounding 4.00 GiB, 1 more\n"));
}

TEST(SimulateReport, OfARunThatDoesNotFitSaysWhatEachTierNeedsAndLacks) {
  // 164 - 128 = 36
  EXPECT_THAT(simulate_report(sample_that_does_not_fit(), {200}),
              HasSubstr("tier      needs        has     lacks  in phase  biggest buffers\n"));
  EXPECT_THAT(simulate_report(sample_that_does_not_fit(), {200}),
              HasSubstr("host  164.0 GiB  128.0 GiB  36.0 GiB  update    parameter_pool 160.0 "
                        "GiB\n"));
  EXPECT_THAT(simulate_report(sample_that_does_not_fit(), {200}),
              HasSubstr("This machine keeps 4.00 GiB of host memory free for the system "
                        "(machine.gpu.reserve, machine.host.reserve); needs hold what a memory of "
                        "their size keeps.\n"))
      << "the reserve of a machine may be more than all that is needed";
  EXPECT_THAT(simulate_report(sample_that_fits(), {200}), Not(HasSubstr("This machine keeps")));
  const std::string stopped = simulate_report(sample_that_stopped(), {200});
  EXPECT_THAT(stopped, Not(HasSubstr("biggest buffers"))) << "what it held is no peak";
}

TEST(SimulateReport, SaysWhatEachPhaseWaitsFor) {
  const std::string report = simulate_report(sample_that_fits(), {100});
  // 20 s of a 40 s step, the GPU busy 15 s of them, the SSD 18 s
  EXPECT_THAT(report, HasSubstr("backward          20.0 s   50.0 %    75.0 %  ssd (90.0 %)\n"));
  EXPECT_THAT(report,
              HasSubstr("  overflow_check  1.00 s    2.5 %     0.0 %  latency (cpu 25.0 %)"));
  EXPECT_THAT(report, HasSubstr("The GPU waits 3.50 s for the SSD, 250 ms for the host and "
                                "12.0 s for the update.\n"));
}

TEST(SimulateReport, NamesOtherGpusWhereTheyAreWaitedFor) {
  result::Result result = sample_that_fits();
  result.stalls.gpu_waits_for_gpus = 1.5;
  EXPECT_THAT(stalls_sentence(result, {200}),
              HasSubstr("250 ms for the host, 1.50 s for other GPUs and 12.0 s for the update"));
}

// Its time holds that of the check, so what is busy in it does too.
TEST(SimulateReport, CountsTheOverflowCheckIntoTheUpdate) {
  result::Result run;
  run.update_s = 19;
  run.overflow_check_s = 4;
  run.phase_busy["update"].cpu = 3;
  run.phase_busy["overflow_check"].cpu = 4;
  const std::vector<PhaseTime> phases = phases_of(run);
  ASSERT_EQ(phases.size(), 4u);
  EXPECT_EQ(phases[2].busy->cpu, 7);
  EXPECT_EQ(phases[3].busy->cpu, 4);
}

TEST(SimulateReport, SortsWhatWouldHelpByWhatItBrings) {
  EXPECT_THAT(simulate_report(sample_that_fits(), {100}),
              HasSubstr("one more ssd                 30.0 s    -25.0 %\n"
                        "twice the host memory        40.0 s  no change\n"
                        "half the host memory   does not fit\n"));
}

TEST(SimulateReport, SaysWhetherAFullCacheSetsThePace) {
  result::Result slow = sample_that_fits();
  slow.slc_caches["nvme"] = {226e9, 1.4e9, 6.9e9, 144.5e9};
  EXPECT_THAT(simulate_report(slow, {300}),
              HasSubstr("Cache: nvme takes 226.0 GB fast (6.90 GB/s), then 1.40 GB/s until it has "
                        "time to move them; a step writes 144.5 GB.\n"));
  slow.next["drives that keep their write rate"].step_time_s = 25;
  EXPECT_THAT(simulate_report(slow, {300}),
              HasSubstr(" The full cache sets the pace: with drives that keep their rate a step "
                        "takes 25.0 s instead of 40.0 s.\n"));
  slow.next["drives that keep their write rate"].step_time_s = 40;
  EXPECT_THAT(simulate_report(slow, {300}), HasSubstr(" That does not set the pace.\n"));
}

TEST(SimulateReport, SaysHowLongTheDrivesLastTheWarrantyFirst) {
  result::Result rated = sample_that_fits();
  // 14 PB at 194.4 TB a day: 72 days; amplified, the flash takes 9.2 PB
  rated.wear->warranty_years = 14e15 / 194.4e12 / 365;
  rated.wear->warranty_limit_years = 5;
  rated.wear->filled = 0.03;
  EXPECT_THAT(simulate_report(rated, {400}),
              HasSubstr("Wear: 90.0 GB a step, 194.4 TB a day on nvme (97.2 TB on each of 2 "
                        "drives), each byte written 1.50 times inside (at most 3.0 % full); 12.6 "
                        "drive writes a day where 0.33 are rated. The maker's warranty ends once "
                        "14.0 PB are written: after 72 days. The flash likely stands 9.20 PB of "
                        "these writes: 47 days. A million tokens wear off $0.0123 of SSD.\n"));
  rated.wear->warranty_years = 7e15 / 194.4e12 / 365;
  rated.wear->written_before_bytes = 7e15;
  rated.wear->most_worn_bytes = 3.5e15;
  EXPECT_THAT(simulate_report(rated, {400}),
              HasSubstr("written, of which 7.00 PB are already: after 36 days"));
  rated.wear->warranty_years = 4e15 / 194.4e12 / 365;  // of one drive 5 PB of 7 are gone
  rated.wear->most_worn_bytes = 5e15;
  EXPECT_THAT(
      simulate_report(rated, {1000}),
      HasSubstr("The maker's warranty of a drive ends once 7.00 PB are written to it; the most "
                "worn has 5.00 PB of them already, all 2 together 7.00 PB, and its warranty ends "
                "after 21 days. Its flash likely stands until all drives have taken 9.20 PB of "
                "these writes: 47 days."));
  rated.wear->warranty_years = 7.5;
  EXPECT_THAT(simulate_report(rated, {400}),
              HasSubstr("after 7.5 years, and it ends after 5.0 years in any case."));
  result::Result plain = sample_that_fits();
  plain.wear = result::Wear{1e12, 1, 0, {}, "nvme"};
  EXPECT_THAT(simulate_report(plain, {200}),
              HasSubstr("Wear: 0 B a step, 1.00 TB a day on nvme, each byte written 1.00 times "
                        "inside. How long that lasts is not known: nvme has no endurance. Give it "
                        "endurance.rated, the bytes of its warranty, such as"));
  result::Result dry = sample_that_fits();
  dry.wear->write_bytes_per_day = 0;
  EXPECT_THAT(simulate_report(dry, {100}), Not(HasSubstr("Wear")));
}

TEST(SimulateReport, SaysWhereSharedOptimizerStatesLie) {
  result::Result result = sample_that_fits();
  result.optimizer_states = result::OptimizerStates{100, 20, {{"nvme", {50, 2}}, {"pfs", {30, 1}}}};
  result.checkpoint = result::Checkpoint{200'000'000'000, 50'000'000'000};
  EXPECT_THAT(
      simulate_report(result, {300}),
      HasSubstr("Optimizer states: of 100 sub-groups 20 stay in host memory from one update "
                "to the next, 50 on nvme, 30 on pfs. Of a checkpoint's 200.0 GB 50.0 GB lie "
                "on remote storage already.\n"));
}

TEST(SimulateReport, SaysNothingOfStatesOnOnePathThatAreNeverCached) {
  result::Result result = sample_that_fits();
  result.optimizer_states = result::OptimizerStates{100, 0, {{"nvme", {100, 0}}}};
  result.checkpoint = result::Checkpoint{200, 0};
  const std::string report = simulate_report(result, {300});
  EXPECT_THAT(report, Not(HasSubstr("Optimizer states")));
  EXPECT_THAT(report, Not(HasSubstr("checkpoint")));
}

TEST(SimulateReport, SaysHowLateUpdatesCome) {
  result::Result run = sample_that_fits();
  EXPECT_THAT(simulate_report(run, {200}), Not(HasSubstr("Staleness")));
  run.staleness.emplace();
  EXPECT_THAT(simulate_report(run, {200}),
              HasSubstr("Staleness: none, every step sees the update before it.\n"));
  run.staleness->mean = 1;
  run.staleness->max = 1;
  EXPECT_THAT(simulate_report(run, {200}),
              HasSubstr("Staleness: every update is seen one step late. The training is not"));
  run.staleness->mean = 2.5;
  run.staleness->max = 4;
  EXPECT_THAT(simulate_report(run, {200}),
              HasSubstr("an update of a sub-group every 2.50 steps in the mean, 4 at most"));
  run.staleness->blocks = {{2.5, 4}, {0, 0}};  // one that no measured step saw renewed
  EXPECT_THAT(simulate_report(run, {200}),
              HasSubstr("at the pace of this run kernels see an update of a sub-group "
                        "every 2.50 steps."));
}

TEST(SimulateReport, ListsWhatMovesInsideTheDrives) {
  result::Result run = sample_that_fits();
  run.near_storage = result::StorageBytes{154 * gigabyte, 150 * gigabyte};
  const std::string report = simulate_report(run, {200});
  EXPECT_THAT(report, HasSubstr("inside the drives read     154.0 GB"));
  EXPECT_THAT(report, HasSubstr("inside the drives written  150.0 GB"));
}

TEST(SimulateReport, OfARunThatDoesNotFitHasNoTimes) {
  const std::string report = simulate_report(sample_that_does_not_fit(), {100});
  EXPECT_THAT(report, HasSubstr("Does not fit: host memory needs 164.0 GiB and has 128.0 GiB"));
  EXPECT_THAT(report, HasSubstr("host  164.0 GiB  128.0 GiB  36.0 GiB  update"));
  for (const char* absent : {"mostly waits", "backward", "traffic", "Wear", "what if"})
    EXPECT_THAT(report, Not(HasSubstr(absent)));
}

TEST(SimulateReport, WarnsOfStepsThatDrift) {
  result::Result drifting = sample_that_fits();
  drifting.steady = false, drifting.step_spread = 0.081;
  EXPECT_THAT(simulate_report(drifting, {200}),
              HasSubstr("Not steady: the longest and the shortest "
                        "step differ by 8.1 % of their mean.\n"));
}

TEST(SimulateReport, FitsTheScreen) {
  for (const std::size_t width : {60, 80, 140}) {
    std::istringstream in(simulate_report(sample_that_fits(), {width}));
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(SimulateReport, OfAnIoBenchIsItsRates) {
  result::Result bench;
  bench.system = "io_bench", bench.backend = "sim";
  bench.io_bench = {{"latency_s", 85e-6}, {"rate_bytes_per_s", 6.5e9}};
  EXPECT_EQ(simulate_report(bench, {100}),
            "io_bench (simulated)\n6.50 GB/s, 85.0 us per request.\n");
  bench.io_bench["read_bytes_per_s"] = 4e9;
  bench.io_bench["write_bytes_per_s"] = 2.5e9;
  EXPECT_EQ(simulate_report(bench, {100}),
            "io_bench (simulated)\n6.50 GB/s (4.00 GB/s read, 2.50 GB/s written), 85.0 us per "
            "request.\n");
}

TEST(SimulateReport, OfAnEmptyResultIsStillText) {
  EXPECT_THAT(simulate_report({}, {80}), HasSubstr("Fits: 0 s per step"));
}

TEST(WaitsFor, IsEmptyWhereNothingWorks) {
  const result::PhaseBusy idle;
  EXPECT_EQ(waits_for({"forward", 1, {}, false}), "");
  EXPECT_EQ(waits_for({"forward", 0, idle, false}), "");
  EXPECT_EQ(waits_for({"forward", 1, idle, false}), "");
}

TEST(WaitsFor, TakesTheFirstOfEqualsAndCallsLittleWorkLatency) {
  const result::PhaseBusy tie{0.5, 0, 0, 0, 0.5, 0};
  EXPECT_EQ(waits_for({"forward", 1, tie, false}), "gpu (50.0 %)");
  EXPECT_EQ(waits_for({"forward", 2, tie, false}), "latency (gpu 25.0 %)");
}

TEST(WaitsFor, NamesOtherGpus) {
  result::PhaseBusy busy{0.15};
  busy.other_gpus = 0.85;
  EXPECT_EQ(waits_for({"update", 1, busy, false}), "other GPUs (85.0 %)");
}

TEST(StallsSentence, NamesOnlyWhatIsWaitedFor) {
  result::Result result;
  EXPECT_EQ(stalls_sentence(result, {80}), "");
  result.stalls.gpu_waits_for_host = 2;
  EXPECT_EQ(stalls_sentence(result, {80}), "The GPU waits 2.00 s for the host.\n");
}

TEST(WearText, SaysWhoseRatingItIs) {
  result::Wear wear;
  wear.write_bytes_per_day = 1e12;
  wear.rated_write_bytes = 100e12;
  wear.warranty_years = wear.lifetime_years = 0.2;
  wear.lifetime_write_bytes = 73e12;
  wear.written_before_bytes = wear.most_worn_bytes = 27e12;
  EXPECT_THAT(view::words(wear_text(wear)),
              HasSubstr("The maker's warranty ends once 100.0 TB are written, of which 27.0 TB"));
  wear.rated_by_use = true;
  const std::string by_use = view::words(wear_text(wear));
  EXPECT_THAT(by_use,
              HasSubstr("By what its log says is used of it, it stands 100.0 TB of writes"));
  EXPECT_THAT(by_use, Not(HasSubstr("maker")));
}

}  // namespace
}  // namespace spillway::reports
