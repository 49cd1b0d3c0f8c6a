#include "reports/exploration/exploration_report.hpp"
#include "reports/inputs/model_report.hpp"
#include "reports/inputs/probe_report.hpp"
#include "reports/plan/fit_report.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/run/explain.hpp"
#include "reports/run/remedy_report.hpp"
#include "reports/view/html_page.hpp"
#include "reports/words/finished_run.hpp"
#include "reports/words/pinning_note.hpp"
#include "reports/words/verdict.hpp"
#include "tests/reports/numbers.hpp"
#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What documents hold behind their words: numbers as they were computed, each with its quantity.
namespace spillway::reports::documents_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using view::Quantity;

/// One result has it, another not: numbers of which no renderer keeps all digits.
constexpr double rate = 1234.56789, step = 3.31788123, price = 4321.987;

result::Result some() {
  result::Result r = sample_that_fits();
  r.tokens_per_s = rate;
  r.step_time_s = step;
  r.price_usd = price;
  r.range["throughput.tokens_per_s"] = {1000.123, 1400.987};
  r.scenario["training"] = {{"micro_batch", 4}, {"gradient_accumulation", 2}};
  r.scenario["parallel"] = {{"data", 1}, {"tensor", 1}, {"pipeline", 1}};
  return r;
}

answer::Trial trial(const std::string& words) {
  answer::Trial one;
  one.words = words;
  one.result = some();
  return one;
}

TEST(FitDocument, HoldsRatesRangesAndPricesUnrounded) {
  answer::FitAnswer answer;
  answer.fits = true;
  answer.runnable = some();
  answer.change = answer::FitChange{"one more card", {}, 2 * rate, price + 1999.4};
  const view::Document document = fit_document({"gpt2", "box", "", false, 0}, answer);
  EXPECT_TRUE(holds(document, rate, Quantity::number));
  EXPECT_TRUE(holds(document, 1400.987, Quantity::number));
  EXPECT_TRUE(holds(document, step, Quantity::seconds));
  EXPECT_TRUE(holds(document, price, Quantity::dollars));
  EXPECT_TRUE(holds(document, 1, Quantity::gain));  // twice as fast
  const std::string text = fit_report({"gpt2", "box", "", false, 0}, answer, {});
  EXPECT_THAT(text, HasSubstr("1,235 (1,000 to 1,401)"));
  EXPECT_THAT(text, HasSubstr("one more card, +100 %, 2,469 tokens/s, for $1,999 more."));
}

TEST(FitDocument, CountsWhatIsReplacedAsWorthNothing) {
  answer::FitAnswer answer;
  answer.price_usd = price;
  answer.change = answer::FitChange{"another card", {}, 24.75, price - 350};
  answer.change->outlay_usd = 4650;
  EXPECT_THAT(fit_report({"gpt2", "box", "", false, 0}, answer, {}),
              HasSubstr("What makes it fit: another card, 24.8 tokens/s, for $4,650: what is "
                        "replaced counts as worth\nnothing, second-hand prices are not known."));
}

TEST(FitDocument, SaysWhatMoreSamplesBringWhereSomethingIsBoughtToFit) {
  answer::FitAnswer answer;
  answer.price_usd = price;
  answer.change =
      answer::FitChange{"lohan with 128 GiB of host memory",
                        {},
                        24.75,
                        price + 678.2,
                        answer::MoreSamples{"", 16, 0, 16, 1, {"training.x=1"}, 315.5, {}}};
  EXPECT_THAT(
      fit_report({"gpt2", "box", "", false, 0}, answer, {}),
      HasSubstr("What makes it fit: lohan with 128 GiB of host memory, 24.8 tokens/s; with "
                "16 micro-batches before\neach update (gradient_accumulation), 16 samples a "
                "step in place of 1, 316 tokens/s, for $678 more."));
}

TEST(FitDocument, SaysFirstWhatHelpsMostWhereThatIsAFusedLoss) {
  answer::FitAnswer answer;
  answer.fits = true;
  answer.runnable = some();
  answer.change = answer::FitChange{"one more card", {}, 2 * rate, price + 1999.4};
  answer.fused_loss = answer::FitChange{"a fused loss with lohan", {}, 3 * rate, price};
  const std::string text = fit_report({"gpt2", "box", "", false, 0}, answer, {});
  const std::size_t loss =
      text.find("What helps most costs nothing: a fused loss with lohan, +200 %, 3,704 tokens/s.");
  const std::size_t bought = text.find("What helps most for money: one more card, +100 %");
  EXPECT_LT(loss, bought) << text;
  EXPECT_NE(bought, std::string::npos) << text;
  answer.change->tokens_per_s = 4 * rate;
  const std::string after = fit_report({"gpt2", "box", "", false, 0}, answer, {});
  EXPECT_LT(after.find("What helps most: one more card"),
            after.find("What costs nothing: a fused"));
}

TEST(FitDocument, CallsBestOfAllOnlyWhatEverythingWasTriedBeside) {
  answer::FitAnswer answer;
  answer.fits = true;
  answer.best = some();
  EXPECT_THAT(fit_report({"gpt2", "box", "", false, 0}, answer, {}), HasSubstr("best of all"));
  answer.untried = {"g10"};
  const std::string text = fit_report({"gpt2", "box", "", false, 0}, answer, {});
  EXPECT_THAT(text, HasSubstr("best that was tried"));
  EXPECT_THAT(text, Not(HasSubstr("best of all")));
}

TEST(FitDocument, SaysOfTheBestThatItsUpdatesComeLate) {
  answer::FitAnswer answer;
  answer.fits = true;
  answer.best = some();
  const FitWords words{"gpt2", "box", "", false, 0};
  EXPECT_THAT(fit_report(words, answer, {}), Not(HasSubstr("updates late")));
  answer.best->staleness.emplace().mean = 11, answer.best->staleness->max = 12;
  EXPECT_THAT(fit_report(words, answer, {}), HasSubstr("12 at most: another training"));
}

TEST(FitDocument, CountsTheWarrantyFromTheDayThatItIsGiven) {
  answer::FitAnswer answer;
  answer.fits = true;
  answer.runnable = some();
  answer.runnable->wear.emplace();
  answer.runnable->wear->rated_write_bytes = 31e12;
  answer.runnable->wear->warranty_years = 31.0 / 365;
  const view::Document document = fit_document({"gpt2", "box", "", false, 0}, answer);
  EXPECT_TRUE(holds(document, 31.0 / 365, Quantity::years));
  const auto text = fit_report({"gpt2", "box", "", false, 86400}, answer, {});
  EXPECT_THAT(text, HasSubstr("1970-02-02 (31 days of training)"));  // 31 days after 2 January
}

TEST(FitDocument, SaysWhatIsNeededWhereNothingFits) {
  answer::FitAnswer answer;
  answer.needs = {
      {"resident", std::nullopt, {{"gpu", 200}, {"ssd", 7e9}}, {{"gpu", 100}, {"ssd", 8e9}}, ""}};
  const view::Document document = fit_document({"gpt2", "box", "", false, 0}, answer);
  EXPECT_TRUE(holds(document, 200, Quantity::memory));
  EXPECT_TRUE(holds(document, 7e9, Quantity::bytes));
  EXPECT_THAT(fit_report({"gpt2", "box", "", false, 0}, answer, {}),
              HasSubstr("200 B of 100 B *  7.00 GB of 8.00 GB\n* too small\n\nNo memory"));
}

/// Sentences that an answer brings, read back from its JSON, are on a page as numbers.
TEST(PlanDocuments, HoldTheNumbersOfReasons) {
  constexpr std::uint64_t needed = 136'826'880'001, has = 34'359'738'368;
  answer::Trial large;
  large.words = "micro-batch 64";
  large.reason =
      view::filled("needs {} of {} of GPU memory", {view::memory(needed), view::memory(has)});
  answer::Largest largest;
  largest.models = {trial("gpt2"), large};
  largest.model = "gpt2";
  largest.batches = {trial("micro-batch 8"), large};
  const auto read = nlohmann::json(largest).get<answer::Largest>();
  const view::Document document = largest_document(read);
  EXPECT_TRUE(holds(document, static_cast<double>(needed), Quantity::memory));
  const std::string page = view::to_html(document);
  EXPECT_THAT(page, HasSubstr("data-value=\"136826880001\""));
  EXPECT_THAT(page, HasSubstr("data-value=\"34359738368\""));
}

TEST(FinishedRunTable, KeepsWhatItsWordsRound) {
  result::Result r = some();
  r.run.emplace();
  r.run->tokens = 1e9;
  r.run->days = 12.3456789;
  r.run->kwh = 240.123;
  r.run->usd.energy = 4.2049;
  view::Document document;
  document.add(finished_run_table(r));
  EXPECT_TRUE(holds(document, 12.3456789, Quantity::days));
  EXPECT_TRUE(holds(document, 240.123, Quantity::number));
  EXPECT_TRUE(holds(document, 4.2049, Quantity::money));
}

TEST(PlanDocuments, HoldTheNumbersOfTrials) {
  answer::Largest largest;
  largest.model = "gpt2";
  largest.models = {trial("gpt2")};
  largest.batches = {trial("micro-batch 8")};
  EXPECT_TRUE(holds(largest_document(largest), rate, Quantity::number));
  EXPECT_TRUE(holds(largest_document(largest), step, Quantity::seconds));

  answer::BestSettings settings;
  settings.trials = {trial("resident, micro-batch 8")};
  settings.best = 0;
  settings.counts.simulated = 1234567;
  const view::Document best = settings_document(settings, {"box", "", "", false});
  EXPECT_TRUE(holds(best, rate * step, Quantity::number));  // tokens a step
  EXPECT_TRUE(holds(best, 1234567, Quantity::count));

  answer::Drives drives;
  drives.classes = {{"nvme", price, {trial("1 drive"), trial("2 drives")}, 2}};
  drives.classes[0].trials[0].result->tokens_per_s = rate * 0.9;
  drives.result = some();
  const view::Document enough = drives_document(drives);
  EXPECT_TRUE(holds(enough, rate * 0.9 / rate - 1, Quantity::change));
  EXPECT_TRUE(holds(enough, 2, Quantity::plain));
}

/// Two drives of a kind, as many as were tried; the flash of one lasts 0.13 years, of two 0.26.
answer::Drives two_drives() {
  answer::Drives drives;
  drives.years = 0.1;
  drives.classes = {{"nvme", price, {trial("1 drive"), trial("2 drives")}, 2}};
  result::Result &one = *drives.classes[0].trials[0].result,
                 &two = *drives.classes[0].trials[1].result;
  one.tokens_per_s = rate / 2;
  two.wear->lifetime_years = 0.26;
  one.wear->warranty_years = two.wear->warranty_years = 0.08;
  drives.result = some();
  drives.result->next = {{"one more ssd", {drives.result->step_time_s / 1.25}}};
  return drives;
}

// Two are needed for the speed, one lasts as long as is asked; the warranty was not asked about.
TEST(PlanDocuments, SayWhatDrivesAreEnoughFor) {
  const std::string text = drives_report(two_drives(), {10'000});
  EXPECT_THAT(text, HasSubstr("2 drives are the most that were tried, and fewer are not within "
                              "2.0 % of the fastest that was tried and with flash for 36 days: "));
  EXPECT_THAT(text, HasSubstr("More of them were not tried: one more would bring +25.0 % tokens/s, "
                              "--most tries it."));
  EXPECT_THAT(text, HasSubstr("The flash of 1 of them lasts as long as is asked too, 47 days"));
  EXPECT_THAT(text,
              HasSubstr("The warranty ends before the 36 days that were asked of the flash."));
  answer::Drives however_long = two_drives();
  however_long.years = 0;
  const std::string any = drives_report(however_long, {10'000});
  EXPECT_THAT(any, HasSubstr("within 2.0 % of the fastest that was tried: "));
  EXPECT_THAT(any, Not(HasSubstr("asked")));
  answer::Drives full = two_drives();
  full.result->next["one more ssd"] = {full.result->step_time_s};
  EXPECT_THAT(drives_report(full, {10'000}), HasSubstr("One more would bring no more."));
}

// A time limit says nothing of what fits.
TEST(PlanDocuments, CallNothingNoneThatNobodyTried) {
  answer::Largest largest;
  largest.model = "gpt2";
  largest.models = {trial("gpt2")};
  answer::Trial open;
  open.words = "context 512";
  open.not_tried = true;
  largest.contexts = {open, open};
  largest.batches = {open};
  const std::string text = largest_report(largest, {});
  EXPECT_THAT(text, HasSubstr("Longest context at micro-batch 1: not tried."));
  EXPECT_THAT(text, Not(HasSubstr(": none.")));
}

TEST(PlanDocuments, SayWhatMoreSamplesAStepBring) {
  answer::BestSettings settings;
  settings.trials = {trial("resident, micro-batch 8")};
  settings.best = 0;
  settings.more_samples =
      answer::MoreSamples{"zero_infinity", 16, 2, 32, 8, {"training.x=1"}, 663.25, std::nullopt};
  EXPECT_TRUE(holds(settings_document(settings, {"box", "", "", false}), 663.25, Quantity::number));
  const auto text = settings_report(settings, {"box", "", "", false}, {});
  EXPECT_THAT(text, HasSubstr("16 micro-batches of 2 before each update with zero_infinity"));
  EXPECT_THAT(text, HasSubstr("--accumulation 16"));
}

TEST(MachineDocument, NamesACheaperBoxForMoreSamplesAndPricesThatAreNear) {
  answer::BestMachine machine;
  machine.tokens_per_day = 5e7;
  machine.answer.emplace();
  machine.answer->trial = trial("resident");
  machine.result = some();
  machine.more_samples.emplace();
  machine.more_samples->words = "RTX 3090, desktop";
  machine.more_samples->price_usd = 4157;
  machine.more_samples->trial = trial("zero_infinity, micro-batch 2 x 16");
  machine.accumulation = 16;
  machine.break_even = {{"dram", "", 0.999, 10.6, "another"}};
  const std::string text = machine_report(machine, {});
  EXPECT_THAT(text, HasSubstr("a cheaper box does it: RTX 3090, desktop for $4,157"));
  EXPECT_THAT(text, HasSubstr("--accumulation 16"));
  EXPECT_THAT(text, HasSubstr("less than 1 % away"));
}

TEST(MachineDocument, HoldsWhatADayBringsAndWhatItCosts) {
  answer::BestMachine machine;
  machine.tokens_per_day = 5e7;
  machine.answer.emplace();
  machine.answer->price_usd = price;
  machine.answer->trial = trial("resident");
  machine.break_even = {{"dram", "", 1.5, 3.21, "another"}};
  machine.result = some();
  const view::Document document = machine_document(machine);
  EXPECT_TRUE(holds(document, rate * 86400, Quantity::number));
  EXPECT_TRUE(holds(document, 86400 * 1400.987, Quantity::number));  // of the range
  EXPECT_TRUE(holds(document, rate * 86400 / 5e7, Quantity::ratio));
  EXPECT_TRUE(holds(document, price, Quantity::dollars));
  EXPECT_TRUE(holds(document, 3.21, Quantity::cents));
}

TEST(RemedyDocument, HoldsItsResult) {
  answer::Remedy remedy{"less", {"training.micro_batch=2"}, some()};
  answer::Remedy to_host = remedy;
  to_host.result.runs_with = result::RunsWith{"DeepSpeed", true};
  EXPECT_EQ(view::words(remedy_words("it", to_host.result)).find("Hugging Face"),
            std::string::npos);
  to_host.result.scenario["strategy"]["activations"]["policy"] = "checkpoint_host";
  EXPECT_THAT(view::words(remedy_words("it", to_host.result)),
              HasSubstr("those of Hugging Face keep checkpoints on the GPU"));
  const view::Document document = remedy_document(remedy, "a.json", {});
  EXPECT_TRUE(holds(document, rate, Quantity::number));
  EXPECT_TRUE(holds(document, step, Quantity::seconds));
  EXPECT_THAT(remedy_report(remedy, "a.json", {}, {}),
              HasSubstr("\n  spillway simulate a.json --set training.micro_batch=2\n"));
}

// What is set anew, by itself or with all around it, is not set before.
TEST(CommandWith, LeavesOutWhatTheChangesSetAnew) {
  EXPECT_EQ(
      command_with({"training.micro_batch=2", R"(strategy={"system": "lohan"})"}, "a.json",
                   {"training.micro_batch=8", "training.micro_batches=1", "strategy.pinned=exact"}),
      "spillway simulate a.json --set training.micro_batches=1 --set training.micro_batch=2 "
      "--set 'strategy={\"system\": \"lohan\"}'");
}

TEST(ModelDocument, HoldsOperationsUnscaled) {
  answer::ModelCard card;
  card.parameters = 124439808;
  card.forward_flops = 2.87654321e11;
  card.saved_bytes = 305987654;
  card.tensors = {{"a", "linear", {768, 2304}, 1769472, "block"}};
  const view::Document document = model_document(card);
  EXPECT_TRUE(holds(document, 2.87654321e11, Quantity::trillions));
  EXPECT_TRUE(holds(document, 305987654, Quantity::memory));
  EXPECT_TRUE(holds(document, 2304, Quantity::plain));
  EXPECT_THAT(model_report(card, {}), HasSubstr("0.29 TFLOP forward"));
}

TEST(ProbeDocument, MarksItsNumbersAsMeasured) {
  answer::Probe probe;
  probe.device = "CPU";
  probe.measurements = {{"gpu.compute", "", "flops_per_s", 5.4321e12, 5e12, 6e12, 3}};
  const view::Document document = probe_document(probe);
  ASSERT_TRUE(holds(document, 5.4321e12, Quantity::billions));
  EXPECT_EQ(numbers_of(document).front().origin, view::Origin::measured);
  EXPECT_THAT(probe_report(probe, {}), HasSubstr("5,432 GFLOPS"));
}

TEST(ProbeDocument, SaysWhetherMixesCostMoreWithSmallRequests) {
  answer::Probe probe;
  probe.mixes = {{"nvme", 1 << 20, true, 0.87, 0.85, 0.88},
                 {"nvme", 256 << 10, false, 0.71, 0.7, 0.75},
                 {"other", 1 << 20, true, 1.02, 0.99, 1.03},
                 {"other", 256 << 10, false, 1.0, 0.97, 1.01}};
  const std::string report = probe_report(probe, {.width = 1000});
  EXPECT_THAT(report, HasSubstr("With requests of 1024 KiB, as runs make them, nvme moves 87 % "
                                "(85 % to 88 %) of what it moves of either alone"));
  EXPECT_THAT(report, HasSubstr("; with 256 KiB it is 71 % (70 % to 75 %): mixes cost more with "
                                "smaller requests."));
  EXPECT_THAT(report, HasSubstr("other moves 102 % (99 % to 103 %) of what"));
  EXPECT_THAT(report, HasSubstr("(97 % to 101 %): no difference beyond the spread of the runs."));
  EXPECT_TRUE(holds(probe_document(probe), 0.71, Quantity::part));
  // whichever of them the machine file has
  std::swap(probe.mixes[0].in_machine_file, probe.mixes[1].in_machine_file);
  EXPECT_THAT(probe_report(probe, {.width = 1000}),
              HasSubstr("with 1024 KiB it is 87 % (85 % to 88 %): mixes cost more with smaller "));
  probe.mixes[1].least = 0.9, probe.mixes[1].most = 0.92;
  EXPECT_THAT(probe_report(probe, {.width = 1000}), HasSubstr("mixes cost less with smaller "));
}

answer::Space space_of_two() {
  answer::Space space;
  space.name = "two";
  space.axes = {"training.micro_batch"};
  space.objectives = {{"throughput.tokens_per_s", false}, {"wear.usd_per_million_tokens", true}};
  space.points = 1234;
  space.finished = true;
  return space;
}

answer::Point point_of_it() {
  answer::Point point;
  point.number = 1001;
  point.point = {{"training.micro_batch", 4096}};
  point.objectives = {{"throughput.tokens_per_s", rate}, {"wear.usd_per_million_tokens", 0.0312}};
  return point;
}

TEST(ExplorationDocuments, HoldObjectivesAxesAndCounts) {
  const view::Document front = front_document({space_of_two(), {point_of_it()}});
  EXPECT_TRUE(holds(front, rate, Quantity::number));
  EXPECT_TRUE(holds(front, 0.0312, Quantity::cents));
  EXPECT_TRUE(holds(front, 4096, Quantity::plain));
  EXPECT_TRUE(holds(front, 1234, Quantity::count));
  const view::Document groups =
      groups_document({space_of_two(), "training.micro_batch", {point_of_it()}});
  EXPECT_TRUE(holds(groups, rate, Quantity::number));
  const view::Document reasons = reasons_document({space_of_two(), {}, {{1000000, point_of_it()}}});
  EXPECT_TRUE(holds(reasons, 1000000, Quantity::count));
}

TEST(ExplorationDocuments, HoldWhatNextStepsBring) {
  answer::Explanation explanation{space_of_two(), point_of_it(), some(), {}};
  explanation.steps = {{"one more drive of nvme", false, some(), "", "", 2222.2}};
  explanation.steps[0].result->tokens_per_s = rate * 1.25;
  const view::Document document = explanation_document(explanation);
  EXPECT_TRUE(holds(document, rate * 1.25 / rate - 1, Quantity::change));
  EXPECT_TRUE(holds(document, 2222.2, Quantity::number));  // no schedule brings more
  EXPECT_TRUE(holds(document, 1001, Quantity::plain));
}

TEST(ExplorationReports, SayNothingInTheWayTheyDid) {
  EXPECT_EQ(reasons_report({space_of_two(), {}, {}}, {100, false}).substr(0, 4), "two:");
  EXPECT_THAT(reasons_report({space_of_two(), {}, {}}, {100, false}),
              HasSubstr("\n\npoints  verdict  one of them  why that one\n"));
}

TEST(PinningText, HoldsWhatEachDefaultCosts) {
  answer::ImportedScenario imported;
  imported.version = "0.18";
  imported.pinning.emplace();
  imported.pinning->cost.emplace();
  imported.pinning->cost->host_bytes = 12345678901;
  imported.pinning->cost->step_time_s = step;
  const view::Text text = pinning_text(imported);
  ASSERT_EQ(numbers_of(text).size(), 4u);
  EXPECT_EQ(text.number()->value, 12345678901);
  EXPECT_EQ(numbers_of(text)[2].value, step);
  EXPECT_THAT(pinning_note(imported), HasSubstr("host peak 11.5 GiB here and 0 B there"));
}

TEST(Documents, OfTimeKeepTheSharesOfEachPhase) {
  result::Result r = some();
  r.forward_s = 3.3;
  r.phase_busy["forward"].gpu = 1.1234567;
  EXPECT_TRUE(holds(explain_document(r, Topic::time), 1.1234567 / 3.3, Quantity::part));
}

TEST(Documents, OfWhatFindsNoRoomKeepItsRank) {
  result::Result r = sample_that_does_not_fit();
  r.infeasible->rank = 1234;
  view::Document document;
  document.say(headline_text(r));
  EXPECT_TRUE(holds(document, 1234, Quantity::plain)) << view::words(headline_text(r));
}

}  // namespace
}  // namespace spillway::reports::documents_test
