#include "reports/run/validation_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/samples.hpp"

namespace spillway::reports::validation_report_test {
namespace {

using testing::HasSubstr;
using testing::Not;

result::Validation sample() {
  result::Validation v;
  v.device = "host device, 2 cores of some processor";
  v.real = {"storage transfers", "host memory"};
  v.emulated = {"GPU memory in DRAM"};
  v.predicted = v.measured = sample_that_fits();
  v.predicted.step_time_s = 42;  // 40 s measured: 5 % too long
  v.measured.io.by_storage["pfs"] = {gigabyte, 0};
  v.losses = {8, 7.5, 7};
  v.weights_equal = true;
  v.notes = {"the first note"};
  return v;
}

std::string row(const std::string& text, const std::string& name) {
  const std::size_t start = text.find("\n" + name);
  return start == std::string::npos
             ? ""
             : text.substr(start + 1, text.find('\n', start + 1) - start - 1);
}

TEST(ValidationReport, ShowsPredictedBesideMeasured) {
  const std::string text = validation_report(sample(), {});
  EXPECT_THAT(text, HasSubstr("Real: storage transfers; host memory."));
  EXPECT_THAT(text, HasSubstr("Emulated: GPU memory in DRAM."));
  EXPECT_THAT(row(text, "step"), testing::ContainsRegex("42.0 s +40.0 s +\\+5.0 %"));
  EXPECT_THAT(row(text, "nvme read"), testing::ContainsRegex("120.0 GB +120.0 GB +\\+0.0 %"));
  // nothing was predicted for it: -100 %
  EXPECT_THAT(row(text, "pfs read"), HasSubstr("-100.0 %"));
  EXPECT_THAT(text, HasSubstr("Loss 8 to 7 in 3 steps."));
  EXPECT_THAT(text, HasSubstr("equal those of resident training, bit for bit"));
  EXPECT_THAT(text, HasSubstr("Note: the first note."));
}

TEST(ValidationReport, HasWordsForAllThatIsCompared) {
  result::Validation v = sample();
  v.synthetic = false;
  result::compare(v);
  ASSERT_FALSE(v.errors.empty());
  for (const auto& [path, error] : v.errors) EXPECT_NE(compared_words(path), path);
  EXPECT_EQ(compared_words("io_bytes_per_step.by_storage.nvme.0.write"), "nvme.0 written a step");
  EXPECT_EQ(compared_words("io_bytes_per_step.by_storage."), "io_bytes_per_step.by_storage.");
  EXPECT_EQ(compared_words("of a later release"), "of a later release");
}

TEST(ValidationReport, SaysLoudlyThatWeightsDifferOrThatDeadlinesWereMissed) {
  result::Validation v = sample();
  v.weights_equal = false;
  v.pacing = result::Pacing{100, 2, 1.25};
  const std::string text = validation_report(v, {});
  EXPECT_THAT(text, HasSubstr("THE MASTER WEIGHTS DIFFER"));
  EXPECT_THAT(text, HasSubstr("THE COMPARISON IS VOID"));
  v.pacing->overruns = 0;
  EXPECT_THAT(validation_report(v, {}), Not(HasSubstr("VOID")));
}

TEST(ValidationReport, SaysWhenNothingWasComputedOrCompared) {
  result::Validation v = sample();
  v.weights_equal = std::nullopt;
  EXPECT_THAT(validation_report(v, {}), HasSubstr("were not compared with a reference"));
  v.synthetic = true;
  const std::string text = validation_report(v, {});
  EXPECT_THAT(text, HasSubstr("Nothing was computed on the GPU"));
  EXPECT_THAT(text, Not(HasSubstr("Loss")));
}

TEST(ValidationReport, ComparesTimesOfARunWithoutKernelsOnlyWhenItWasPaced) {
  result::Validation v = sample();
  v.synthetic = true;
  v.pacing = std::nullopt;
  EXPECT_THAT(validation_report(v, {}), HasSubstr("bytes and peaks compare"));
  EXPECT_THAT(validation_report(v, {}), testing::ContainsRegex("step +42.0 s +40.0 s +-\n"));
  v.pacing = result::Pacing{100, 0, 0.25};
  EXPECT_THAT(validation_report(v, {}), Not(HasSubstr("bytes and peaks compare")));
  EXPECT_THAT(validation_report(v, {}), testing::ContainsRegex("step +42.0 s +40.0 s +.5.0 %\n"));
}

TEST(ValidationReport, IsTheReasonWhenTheScenarioDoesNotFit) {
  result::Validation v = sample();
  v.predicted = v.measured = sample_that_does_not_fit();
  const std::string text = validation_report(v, {});
  EXPECT_THAT(text,
              testing::StartsWith("Does not fit: host memory needs 164.0 GiB and has 128.0 GiB"));
  EXPECT_THAT(text, Not(HasSubstr("predicted")));
  EXPECT_THAT(text, HasSubstr("Note: the first note."));
}

TEST(ValidationReport, SaysWhatDidNotFitThoughItWasPredictedTo) {
  result::Validation v = sample();
  v.measured = sample_that_does_not_fit();
  const std::string text = validation_report(v, {});
  EXPECT_THAT(text, HasSubstr("Measured: Does not fit: host memory"));
  EXPECT_THAT(text, Not(HasSubstr("Loss")));
}

TEST(OnOneTimeline, BothBeginWithTheirFirstStepAndWhatEndedBeforeIsLeftOut) {
  result::Trace measured, predicted;
  measured.spans = {{"nvme", "set-up", "init", 0, 2, 1}, {"nvme", "read", "forward", 5, 7, 1}};
  predicted.spans = {{"nvme", "read", "forward", 1, 4, 1}};
  predicted.samples = {{"host memory", 1.5, 64}};
  const result::Trace both = on_one_timeline(measured, 4, predicted, 1);
  ASSERT_EQ(both.spans.size(), 2u);
  EXPECT_EQ(both.spans[0].run, "measured");
  EXPECT_DOUBLE_EQ(both.spans[0].start_s, 1);  // 5 - 4
  EXPECT_DOUBLE_EQ(both.spans[0].end_s, 3);    // 7 - 4
  EXPECT_EQ(both.spans[1].run, "predicted");
  EXPECT_DOUBLE_EQ(both.spans[1].start_s, 0);
  EXPECT_DOUBLE_EQ(both.spans[1].end_s, 3);
  EXPECT_EQ(both.samples[0].counter, "predicted host memory");
  EXPECT_DOUBLE_EQ(both.samples[0].at_s, 0.5);
}

}  // namespace
}  // namespace spillway::reports::validation_report_test
