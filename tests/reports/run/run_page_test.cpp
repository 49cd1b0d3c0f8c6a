#include "reports/run/run_page.hpp"
#include "reports/view/html_page.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/verdict.hpp"
#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

const PageOrigin origin{"spillway report mine.json --out page.html", "spillway 0.1.0, commit c"};

PageRun run_of(result::Result result) {
  PageRun run;
  run.label = "mine";
  run.result = std::move(result);
  run.settings = {{"training.micro_batch", "4", "mine.json:3"},
                  {"machine.pcie.h2d", "25 GB/s", "assumed: as of its kind"},
                  {"machine.gpu.memory", "24 GiB", "datasheet: its maker"},
                  {"run.steps", "2", "default"}};
  return run;
}

/// The titles of the second level, in order.
std::vector<std::string> sections(const view::Document& page) {
  std::vector<std::string> titles;
  for (const view::Block& block : page.blocks)
    if (const auto* heading = std::get_if<view::Heading>(&block.content);
        heading && heading->level == 2)
      titles.push_back(view::words(heading->text));
  return titles;
}

TEST(RunPage, AnswersFirstAndListsInputsLast) {
  const PageRun run = run_of(sample_that_fits());
  EXPECT_THAT(
      sections(run_page({&run, 1}, origin)),
      testing::ElementsAre("What limits it", "Memory at its fullest", "What would make it better",
                           "Wear and cost", "Assumptions", "Inputs"));
}

TEST(RunPage, CountsWhatIsAssumedAndNamesOnlyThat) {
  const PageRun run = run_of(sample_that_fits());
  const std::string text = view::to_text(run_page({&run, 1}, origin), {100});
  EXPECT_THAT(text, HasSubstr("1 of 4 inputs are assumed"));
  const std::string assumptions = text.substr(text.find("1 of 4 inputs"), 300);
  EXPECT_THAT(assumptions, HasSubstr("machine.pcie.h2d"));
}

TEST(RunPage, SaysWhatLacksWhereARunDoesNotFit) {
  PageRun run = run_of(sample_that_does_not_fit());
  run.remedies = {
      {"training.micro_batch 2", "spillway simulate mine.json --set x=2", sample_that_fits()}};
  const std::string text = view::to_text(run_page({&run, 1}, origin), {100});
  EXPECT_THAT(text, HasSubstr("Does not fit: "));
  EXPECT_THAT(text,
              HasSubstr("It fits with training.micro_batch 2: 40.0 s a step, 1,638 tokens/s"));
  EXPECT_THAT(text, HasSubstr("spillway simulate mine.json --set x=2"));
}

TEST(RunPage, ShowsOfATierThatIsTooSmallWhatTheVerdictSays) {
  const PageRun run = run_of(sample_that_does_not_fit());
  const std::string verdict = view::words(verdict_sentence(run.result));
  const std::size_t at = verdict.find("needs ") + 6;
  const std::string needed = verdict.substr(at, verdict.find(" and has") - at);
  const view::Document page = run_page({&run, 1}, origin);
  std::vector<std::string> beside;
  for (const view::Block& block : page.blocks)
    if (const auto* bars = std::get_if<view::Bars>(&block.content))
      for (const view::Bar& bar : bars->bars) beside.push_back(view::words(bar.beside));
  EXPECT_THAT(beside, testing::Contains(HasSubstr("needs " + needed + " of ")));
}

TEST(RunPage, PutsSeveralRunsBesideEachOther) {
  const std::vector<PageRun> runs{run_of(sample_that_fits()), run_of(sample_that_does_not_fit())};
  const view::Document page = run_page(runs, origin);
  EXPECT_EQ(sections(page).front(), "Side by side");
  const std::string html = view::to_html(page);
  EXPECT_THAT(html, HasSubstr("class=\"columns\" style=\"--columns:2\""));
  EXPECT_THAT(html, HasSubstr("id=\"result-1\""));
  EXPECT_THAT(html, HasSubstr("id=\"result-2\""));
}

TEST(RunPage, SaysOfAValidationFirstHowFarItWasOff) {
  result::Validation validation;
  validation.predicted = validation.measured = sample_that_fits();
  validation.measured.step_time_s = 50;  // 40 s predicted: 10 of 50 too little
  PageRun run = run_of(validation.predicted);
  run.validation = &validation;
  const std::string text = view::to_text(run_page({&run, 1}, origin), {100});
  EXPECT_THAT(text, HasSubstr("Predicted 40.0 s per step, measured 50.0 s: -20.0 % off."));
}

TEST(RunPage, DrawsNoTimelineWithoutATrace) {
  const PageRun run = run_of(sample_that_fits());
  EXPECT_THAT(view::to_html(run_page({&run, 1}, origin)), Not(HasSubstr("chart lanes")));
}

}  // namespace
}  // namespace spillway::reports
