#include "reports/words/finished_run.hpp"

#include "reports/run/simulate_report.hpp"
#include "reports/words/range.hpp"
#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

result::Result finished() {
  result::Result r = sample_that_fits();
  r.run.emplace();
  r.run->tokens = 1e9;
  r.run->days = 12;
  r.run->kwh = 240;
  r.run->usd.energy = 4.2;
  return r;
}

TEST(FinishedRunReport, SaysWhatIsKnownAndNothingElse) {
  const std::string text = finished_run_report(finished(), Screen{});
  EXPECT_THAT(text, HasSubstr("12.0 days"));
  EXPECT_THAT(text, HasSubstr("240 kWh"));
  EXPECT_THAT(text, HasSubstr("$4.20"));
  EXPECT_THAT(text, Not(HasSubstr("rented")));
  EXPECT_EQ(finished_run_report(sample_that_fits(), Screen{}), "");
  EXPECT_THAT(simulate_report(finished(), Screen{}), HasSubstr("240 kWh"));
}

TEST(FinishedRunReport, SaysThatNoPowerIsStatedAndWhatIsBoughtOrRented) {
  result::Result r = finished();
  r.run->usd.box = 3818;
  r.run->usd.rented = 96;
  const std::string text = finished_run_report(r, Screen{});
  EXPECT_THAT(text, HasSubstr("$3,822"));  // 3818 + 4.20
  EXPECT_THAT(text, HasSubstr("$96"));
  r.run->kwh.reset();
  EXPECT_THAT(finished_run_report(r, Screen{}), HasSubstr("no power stated"));
}

TEST(FinishedRunReport, WhatIsBoughtHasTheDrivesThatAreUsedUp) {
  result::Result r = finished();
  r.run->usd.box = 4497;
  r.run->usd.energy = 556;
  r.run->drives.emplace();
  r.run->drives->replaced = 28;
  r.run->usd.replacements = 28 * 440;
  const std::string text = finished_run_report(r, Screen{});
  EXPECT_THAT(text, HasSubstr("28 more once the warranty is written, $12,320"));
  EXPECT_THAT(text, HasSubstr("$17,373"));  // 4497 + 556 + 12320
  r.run->usd.replacements.reset();
  EXPECT_THAT(finished_run_report(r, Screen{}), HasSubstr("$5,053, without the drives used up"));
}

TEST(WithRange, StandsBehindItsNumberWhereThereIsOne) {
  result::Result r = finished();
  EXPECT_EQ(with_range(view::number(240), r, "run.kwh"), "240");
  EXPECT_EQ(range_note(r), "");
  r.range["run.kwh"] = {180, 300};
  EXPECT_EQ(with_range(view::number(240), r, "run.kwh"), "240 (180 to 300)");
  EXPECT_EQ(with_range(view::number(480), r, "run.kwh", 2), "480 (360 to 600)");
  EXPECT_THAT(finished_run_report(r, Screen{}), HasSubstr("240 (180 to 300) kWh"));
  EXPECT_THAT(range_note(r), HasSubstr("nine of ten"));
  r.tokens_per_s = 100;
  r.range["throughput.tokens_per_s"] = {80, 110};
  EXPECT_THAT(range_note(r), testing::Not(HasSubstr("ends at the answer")));
  r.range["throughput.tokens_per_s"] = {80, 100};
  EXPECT_THAT(range_note(r), HasSubstr("ends at the answer"));
  r.range.erase("throughput.tokens_per_s");
  r.range["run.kwh"] = {240.01, 240.02};  // reads as one number
  EXPECT_EQ(with_range(view::number(240), r, "run.kwh"), "240");
}

TEST(SimulateReport, PutsRangesIntoTheHeadline) {
  result::Result r = sample_that_fits();
  r.range["throughput.tokens_per_s"] = {1000, 2000};
  EXPECT_THAT(simulate_report(r, Screen{}), HasSubstr("(1,000 to 2,000) tokens/s"));
}

}  // namespace
}  // namespace spillway::reports
