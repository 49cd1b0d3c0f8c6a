#include "reports/run/compare_table.hpp"

#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <sstream>

namespace spillway::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The words of the row that starts with `title`, after it, joined with one space; "" for none.
std::string row(const std::string& table, const std::string& title) {
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(title + " ")) continue;
    std::istringstream words(line.substr(title.size()));
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    return joined;
  }
  return "";
}

/// Labels "a", "b", ... on a wide screen.
std::string table_of(const std::vector<result::Result>& results, Screen screen = {400}) {
  std::vector<Contender> contenders;
  for (const result::Result& result : results)
    contenders.push_back({std::string(1, static_cast<char>('a' + contenders.size())), &result});
  return compare_table(contenders, screen);
}

/// 65,536 tokens in a step of 30 s.
result::Result fast_sample() {
  result::Result fast = sample_that_fits();
  fast.step_time_s = 30, fast.tokens_per_s = 65536 / 30.;
  return fast;
}

TEST(CompareTable, MarksTheBestOfEachRow) {
  result::Result slow = sample_that_fits(), fast = fast_sample();
  fast.host.total = 80 * gib;
  fast.wear->lifetime_years = 3.2;
  const std::string table = table_of({slow, fast});
  EXPECT_EQ(row(table, "step time"), "40.0 s 30.0 s*");
  EXPECT_EQ(row(table, "tokens/s"), "1,638 2,185*");
  EXPECT_EQ(row(table, "host peak of 128.0 GiB"), "64.0 GiB* 80.0 GiB");
  EXPECT_EQ(row(table, "SSD lifetime"), "47 days 3.2 years*");
  EXPECT_EQ(row(table, "tokens/s per $1000"), "200 267*");  // 1638.4 and 2184.5 / 8.192
}

// To read nothing from a drive is no merit of a run that keeps everything on the GPU.
TEST(CompareTable, MarksNobodyForHavingNone) {
  result::Result none = sample_that_fits(), some = none;
  none.io.ssd_read = 0, some.io.ssd_read = 5'000'000'000;
  EXPECT_EQ(row(table_of({none, some}), "SSD read/step"), "0 B 5.00 GB");
}

TEST(CompareTable, SaysWhatItsMarkMeans) {
  const result::Result slow = sample_that_fits(), fast = fast_sample();
  EXPECT_THAT(table_of({slow, fast}), HasSubstr("\n* the best of its row among those that fit\n"));
  EXPECT_THAT(table_of({slow, fast}), HasSubstr("\nTFLOPS per GPU: of the model alone"));
  EXPECT_THAT(table_of({slow, fast}), Not(HasSubstr("updates late")));
}

// A step of twice the samples moves and takes more, and is no worse for it.
TEST(CompareTable, MarksNothingOfAStepWhereStepsHaveDifferentlyManyTokens) {
  result::Result small = sample_that_fits(), large = small;
  large.step_time_s = 60, large.tokens_per_s = 131072 / 60.;
  large.io.ssd_read = 2 * small.io.ssd_read;
  const std::string table = table_of({small, large});
  EXPECT_EQ(row(table, "tokens/step"), "65,536 131,072");
  EXPECT_EQ(row(table, "step time"), "40.0 s 60.0 s");
  EXPECT_THAT(row(table, "SSD read/step"), Not(HasSubstr("*")));
  EXPECT_EQ(row(table, "tokens/s"), "1,638 2,185*");
  EXPECT_THAT(table, HasSubstr("\ntokens/step: steps differ"));
  EXPECT_EQ(row(table_of({small, fast_sample()}), "tokens/step"), "");
}

TEST(CompareCsv, HasTheRowsOfTheTableWithUnitsAndThoseLeftOut) {
  const result::Result fits = sample_that_fits(), large = sample_that_does_not_fit();
  const std::vector<Contender> contenders = {{"a", &fits}, {"b, large", &large}};
  const std::vector<LeftOut> left_out = {{"c", "strategy.x: needs y"}};
  std::ostringstream out;
  write_compare_csv(out, contenders, left_out);
  std::istringstream in(out.str());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].starts_with("label,fits,")) << lines[0];
  for (const char* name : {",gpu_peak_bytes,", ",step_time_s,", ",tokens_per_s,", ",price_usd,"})
    EXPECT_THAT(lines[0], HasSubstr(name));
  EXPECT_TRUE(lines[1].starts_with("a,yes,")) << lines[1];
  EXPECT_THAT(lines[1], HasSubstr(",1638.4,"));
  EXPECT_TRUE(lines[2].starts_with("\"b, large\",")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with("c,left out: strategy.x: needs y,")) << lines[3];
}

TEST(CompareTable, ShowsBothLifetimesWithWhatTheDriveWritesInside) {
  result::Result slow = sample_that_fits(), fast = slow;
  slow.wear->warranty_years = 0.08, slow.wear->waf = 5.68;
  fast.wear->warranty_years = 0.2, fast.wear->waf = 1;
  const std::string table = table_of({slow, fast});
  EXPECT_EQ(row(table, "SSD amplification"), "x5.68 x1.00*");
  EXPECT_EQ(row(table, "SSD warranty ends"), "29 days 73 days*");
  fast.wear->warranty_years = 7.8, fast.wear->warranty_limit_years = 5;
  EXPECT_EQ(row(table_of({slow, fast}), "SSD warranty ends"), "29 days 5.0 years*");
}

TEST(CompareTable, MarksNothingWhereAllReadTheSame) {
  result::Result one = sample_that_fits(), other = one;
  other.step_time_s = 40.0001;
  EXPECT_EQ(row(table_of({one, other}), "step time"), "40.0 s 40.0 s");
  EXPECT_THAT(table_of({one}), Not(HasSubstr("*")));
}

TEST(CompareTable, MarksAllThatTie) {
  result::Result one = sample_that_fits(), other = one, slow = one;
  slow.step_time_s = 50, slow.tokens_per_s = 65536 / 50.;
  EXPECT_EQ(row(table_of({slow, one, other}), "step time"), "50.0 s 40.0 s* 40.0 s*");
}

/// A bug is no "does not fit": it stands in its own column, and the others are compared all the
/// same.
TEST(CompareTable, ShowsWhatWentWrongInPlaceOfWhetherItFits) {
  const result::Result slow = sample_that_fits(), fast = fast_sample();
  const std::vector<Contender> contenders{
      {"a", &slow}, {"b", nullptr, "a bug: x.cpp:3"}, {"c", &fast}};
  const std::string table = compare_table(contenders, {400});
  EXPECT_EQ(row(table, "fits"), "yes a bug: x.cpp:3 yes");
  EXPECT_EQ(row(table, "step time"), "40.0 s - 30.0 s*");
  EXPECT_EQ(row(table, "host peak of 128.0 GiB"), "64.0 GiB - 64.0 GiB");
}

TEST(CompareTable, DoesNotLetARunThatDoesNotFitWin) {
  result::Result big = sample_that_fits();
  big.gpu.total = 20 * gib;
  const std::string table = table_of({sample_that_does_not_fit(), sample_that_fits(), big});
  EXPECT_EQ(row(table, "GPU peak of 24.0 GiB"), "needs 2.00 GiB 18.0 GiB* 20.0 GiB");
  EXPECT_EQ(row(table, "host peak of 128.0 GiB"), "needs 164.0 GiB 64.0 GiB 64.0 GiB");
  EXPECT_EQ(row(table, "step time"), "- 40.0 s 40.0 s");
  EXPECT_EQ(row(table, "fits"), "no: host; first yes yes");
  EXPECT_THAT(table, HasSubstr("gradient_flat_buffer in"));
}

TEST(CompareTable, NeverShowsWhatWasHeldWhenARunFailedAsAPeak) {
  const std::string table = table_of({sample_that_stopped(), sample_that_fits()});
  EXPECT_EQ(row(table, "host peak of 128.0 GiB"), "- 64.0 GiB");
}

TEST(CompareTable, PutsTheCapacityBesideThePeakWhereMachinesDiffer) {
  result::Result small = sample_that_fits(), large = small;
  large.host.capacity = 256 * gib;
  EXPECT_EQ(row(table_of({small, large}), "host peak"),
            "64.0 GiB of 128.0 GiB 64.0 GiB of 256.0 GiB");
}

// A step that waits for no update is no faster way to the same weights.
TEST(CompareTable, SaysWhoseUpdatesComeLate) {
  result::Result prompt = sample_that_fits(), late = prompt, loose = prompt;
  late.staleness.emplace().mean = 1, late.staleness->max = 1;
  loose.staleness.emplace().mean = 36.8, loose.staleness->max = 41;
  EXPECT_EQ(row(table_of({prompt, late, loose}), "updates late"),
            "none 1 step 36.8 steps, 41 at most");
  late.staleness->max = 0;  // an update that could be late, and is not
  late.staleness->mean = 0;
  EXPECT_EQ(row(table_of({prompt, late}), "updates late"), "");
}

TEST(CompareTable, MarksNoRunWithLateUpdatesAsBestBesideOneWithout) {
  result::Result prompt = sample_that_fits(), slow = prompt, loose = prompt;
  slow.tokens_per_s = prompt.tokens_per_s / 2;
  loose.tokens_per_s = 10 * prompt.tokens_per_s;
  loose.staleness.emplace().mean = 11, loose.staleness->max = 12;
  const std::string with_both = row(table_of({slow, prompt, loose}), "tokens/s");
  EXPECT_EQ(std::count(with_both.begin(), with_both.end(), '*'), 1) << with_both;
  EXPECT_LT(with_both.find('*'), with_both.rfind(' ')) << with_both;
  // of runs that all are late one is
  slow.staleness = loose.staleness;
  const std::string all_late = row(table_of({slow, loose}), "tokens/s");
  EXPECT_EQ(all_late.back(), '*') << all_late;
}

TEST(CompareTable, SaysHowManyGpusAreIdle) {
  result::Result one = sample_that_fits();
  one.scenario["parallel"] = {{"data", 1}, {"tensor", 2}, {"pipeline", 1}};
  one.scenario["machine"] = {{"nodes", 2}, {"gpu", {{"count", 4}}}};
  result::Result all = one;
  all.scenario["parallel"]["data"] = 4;
  EXPECT_EQ(row(table_of({one, all}), "GPUs used"), "2 of 8 8 of 8");
  EXPECT_EQ(row(table_of({all, all}), "GPUs used"), "") << "nobody asks";
}

TEST(CompareTable, LeavesOutRowsThatNobodyAnswers) {
  result::Result plain = sample_that_fits();
  EXPECT_EQ(row(table_of({plain}), "price"), "$8,192");
  plain.price_usd.reset(), plain.wear.reset();
  const std::string table = table_of({plain});
  for (const char* title : {"price", "tokens/s per", "SSD lifetime", "GPU direct", "GPU to GPU"})
    EXPECT_THAT(table, Not(HasSubstr(title)));
}

TEST(CompareTable, SaysWhatTokensWearOffAndHowFastAStreamWas) {
  result::Result cheap = sample_that_fits(), stream;
  cheap.wear->usd_per_million_tokens = 0.005;
  const std::string table = table_of({sample_that_fits(), cheap});
  EXPECT_EQ(row(table, "SSD per 1M tokens"), "$0.0123 $0.005*");
  EXPECT_THAT(table, Not(HasSubstr("request")));
  stream.io_bench = {{"latency_s", 220e-6}, {"rate_bytes_per_s", 9.5e9}};
  result::Result slow = stream;
  slow.io_bench = {{"latency_s", 1e-3}, {"rate_bytes_per_s", 2.1e9}};
  EXPECT_EQ(row(table_of({stream, slow}), "request latency"), "220 us* 1.00 ms");
  EXPECT_EQ(row(table_of({stream, slow}), "request rate"), "9.50 GB/s* 2.10 GB/s");
}

TEST(CompareTable, IsCutIntoBlocksOnANarrowScreen) {
  const std::vector<result::Result> six(6, sample_that_fits());
  std::istringstream in(table_of(six, {60}));
  std::size_t blocks = 0;
  for (std::string line; std::getline(in, line);) {
    EXPECT_LE(line.size(), 60u) << line;
    blocks += line.starts_with("step time");
  }
  EXPECT_EQ(blocks, 2u);  // 22 + 3 x (2 + 8): three of the six beside the titles
}

TEST(CompareTable, OfNothingIsNothing) { EXPECT_EQ(table_of({}), ""); }

}  // namespace
}  // namespace spillway::reports
