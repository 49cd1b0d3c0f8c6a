#include "reports/answer/bound.hpp"
#include "reports/answer/comparison.hpp"
#include "reports/answer/deepspeed.hpp"
#include "reports/answer/exploration.hpp"
#include "reports/answer/fit.hpp"
#include "reports/answer/lifetimes.hpp"
#include "reports/answer/machine.hpp"
#include "reports/answer/model.hpp"
#include "reports/answer/plan.hpp"
#include "reports/answer/probe.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::answer {
namespace {

using nlohmann::json;
using reports::sample_that_fits;
using testing::HasSubstr;

Trial trial(const std::string& words) {
  Trial one;
  one.words = words;
  one.overrides = {"training.micro_batch=4"};
  one.result = sample_that_fits();
  one.most_tokens_per_s = 2000;
  return one;
}

Trial too_slow() {
  Trial one;
  one.words = "micro-batch 1";
  one.reason = text::filled("cannot be faster: at most {}",
                            {text::number(1234.56789, text::Quantity::tokens_rate)});
  one.ruled_out = true;
  return one;
}

Largest largest() {
  Largest all;
  all.model = "gpt2", all.system = "memascend", all.context = 4096;
  all.models = {trial("gpt2"), too_slow()};
  all.batches = {trial("micro-batch 4")};
  all.counts = {3, 1, 2, 0};
  all.certainty = {4, "gaming_4090", "training.loss: plain"};
  return all;
}

Drives drives() {
  Drives all;
  all.classes = {{"nvme", 440, {too_slow(), trial("2 drives of nvme")}, 2}};
  all.years = 3, all.result = sample_that_fits();
  return all;
}

BestSettings settings() {
  BestSettings all;
  all.model = "gpt2";
  all.trials = {too_slow(), trial("lohan")};
  all.best = 1;
  all.deepspeed = DeepSpeedChoice{"zero_offload",      false, "0.18",         900,
                                  {{"model", "gpt2"}}, true,  json::object(), {"a note"}};
  all.refusal = "strategy.system: not there";
  return all;
}

BestMachine machine() {
  BestMachine all;
  all.list = "one_box", all.cards = {"RTX 4090", "RTX 5090"}, all.tokens_per_day = 20e6,
  all.budget_usd = 5000;
  all.answer = BoxOffer{"",   "1 x RTX 4090", {"RTX 4090", "desktop", "", 1, 0, 64},
                        3000, true,           trial("lohan, micro-batch 4")};
  all.neighbours = {*all.answer};
  all.break_even = {{"dram", "", 2, 5, "2 x RTX 3090"}};
  all.late_systems = {"teraio"};
  return all;
}

Comparison comparison() {
  Comparison all;
  all.runs = {{"memascend", sample_that_fits(), "", "memascend", {{"model", "gpt2"}}},
              {"lohan", std::nullopt, "a bug", "lohan", {{"model", "gpt2"}}}};
  all.left_out = {{"smart", "strategy.optimizer.device: needs drives that compute"}};
  return all;
}

Point point() {
  Point one;
  one.number = 3, one.key = "key3", one.verdict = "accepted", one.front = true;
  one.point = {{"training.micro_batch", 4}};
  one.objectives = {{"step_time_s", 40.0}};
  one.result = sample_that_fits();
  return one;
}

Space space() {
  Space one;
  one.name = "a space", one.axes = {"training.micro_batch"};
  one.objectives = {{"step_time_s", true}};
  one.points = 6, one.simulated = 4, one.finished = true;
  return one;
}

Explanation explanation() {
  return {space(),
          point(),
          sample_that_fits(),
          {{"one more drive", false, sample_that_fits(), "", "", 3000.0},
           {"lohan", true, std::nullopt, "does not fit", "", std::nullopt}}};
}

ModelCard model() {
  ModelCard card;
  card.name = "gpt2", card.parameters = 124, card.micro_batch = 2, card.sequence = 64;
  card.tensors = {{"wte", "embedding", {50, 2}, 100, "embedding"}};
  card.activations = {{{"block 0", 8, {{"x", 4, 8, true}}}}};
  return card;
}

MigrationPlan lifetimes() {
  MigrationPlan plan;
  plan.tensors = 9, plan.kernels = 8, plan.partial = true, plan.intervals = 7, plan.moved = 2;
  plan.urgent_moves = 1, plan.bytes_to_ssd = 64, plan.bytes_to_host = 32;
  plan.ideal_s = 1, plan.step_s = 1.5;
  plan.note = "planned for 4.00 GiB of host memory";
  plan.infeasible = {"matmul", "gpu", 4, 100, 50};
  plan.roofline = {{2e9, true, 2, 0.5}, {0, false, 0, 0}};
  return plan;
}

Probe probe() {
  Probe all;
  all.machine = {{"name", "here"}}, all.device = "host";
  all.measurements = {{"host.adam", "Adam", "params_per_s", 2e9, 1e9, 3e9, 5}};
  all.products = {{{"gpu.compute", "", "flops_per_s", 1, 1, 1, 2}, 8, 16, 32, "fp32"}};
  all.mixes = {{"nvme", 1 << 20, true, 0.9, 0.8, 1.1}, {"nvme", 1 << 18, false, 0.7, 0.6, 0.8}};
  return all;
}

ImportedScenario imported() {
  return {{{"model", "gpt2"}},
          "0.18",
          PinningDefault{false, "0.19", VersionCost{1, 2, 3, 4}},
          {"a note"}};
}

Bound bound() {
  Bound all;
  all.known = true, all.too_small = "gpu", all.step_time_s = 2, all.tokens_per_s = 512;
  all.limited_by = "gpu", all.busy_s = {{"gpu", 2}, {"nvme", 1}};
  all.memory = {{"gpu", {30, 24}}}, all.io_bytes_per_step = {{"h2d", 5}}, all.price_usd = 900;
  return all;
}

FitAnswer fit() {
  FitAnswer all;
  all.fits = true, all.runnable = sample_that_fits();
  all.needed_bytes = {{"gpu", 7}, {"host", 8}};
  all.needs = {{"lohan", result::RunsWith{"DeepSpeed", true}, {{"gpu", 9}}, {{"gpu", 7}}, "GPU"}};
  all.change = FitChange{"one more drive", {"machine.storage.nvme.count=2"}, 900, 3000};
  all.why_not = text::filled("needs {} more", {text::memory(9'876'543'210)});
  all.notes = {"a note", all.why_not}, all.bounded = 5, all.simulated = 3;
  return all;
}

/// What reading an answer says is wrong, in words.
template <class Answer>
std::string refusal(const json& in) {
  try {
    (void)in.get<Answer>();
  } catch (const description::ScenarioError& error) {
    return to_string(error.complaints().front());
  }
  return "";
}

/// It comes back as it was; names that it does not know are skipped; nothing but its schema has to
/// be there; and another version is named.
template <class Answer>
void expect_readable(const Answer& answer, const std::string& name) {
  const json written = answer;
  EXPECT_EQ(written.at("schema"), "spillway/answer/" + name + "/1");
  json more = json::parse(written.dump());
  more["carbon_kg"] = 3;
  EXPECT_EQ(json(more.get<Answer>()), written) << name;
  const json least = {{"schema", written.at("schema")}};
  EXPECT_EQ(refusal<Answer>(least), "") << name;
  for (const auto& [key, value] : written.items()) {
    if (key == "schema") continue;
    json less = written;
    less.erase(key);
    EXPECT_EQ(refusal<Answer>(less), "") << name << " without " << key;
  }
  more["schema"] = "spillway/answer/" + name + "/2";
  EXPECT_THAT(refusal<Answer>(more),
              HasSubstr("this is answer " + name + " version 2; this program reads 1"));
}

TEST(Answers, AreReadWithDefaultsAndAnotherVersionIsNamed) {
  expect_readable(fit(), "fit");
  expect_readable(bound(), "bound");
  expect_readable(largest(), "largest");
  expect_readable(drives(), "drives");
  expect_readable(settings(), "settings");
  expect_readable(machine(), "machine");
  expect_readable(comparison(), "compare");
  expect_readable(Front{space(), {point()}}, "front");
  expect_readable(Groups{space(), "training.micro_batch", {point()}}, "groups");
  expect_readable(Reasons{space(), {point()}, {{2, point()}}}, "reasons");
  expect_readable(
      RepricedFront{
          "boxes", {"training.micro_batch"}, {"price_usd"}, 9, 2, 1, 4, {{point(), 3800, 4100}}},
      "repriced");
  expect_readable(explanation(), "explain");
  expect_readable(model(), "model");
  expect_readable(lifetimes(), "lifetimes");
  expect_readable(probe(), "probe");
  expect_readable(imported(), "import");
  expect_readable(ImportedProfile{"profile.csv", 5, 6, true, {"a note"}}, "import_profile");
  expect_readable(ExportedConfiguration{json::object(), "0.18", json::object(), true, {"a note"}},
                  "export");
}

TEST(Drives, KnowTheCheapestClassThatIsEnough) {
  Drives all = drives();
  all.classes.push_back({"sata", 100, {trial("1 x sata"), trial("2 x sata")}, 1});
  // 2 x 440 against 1 x 100
  EXPECT_EQ(all.cheapest()->name, "sata");
  all.classes[1].drives.reset();
  EXPECT_EQ(all.cheapest()->name, "nvme");
  EXPECT_EQ(all.cheapest()->enough()->words, "2 drives of nvme");
  all.classes[0].drives.reset();
  EXPECT_EQ(all.cheapest(), nullptr);
}

TEST(Drives, DropANumberThatNoTrialIsOf) {
  json wrong = drives();
  wrong["classes"][0]["drives"] = 9;
  EXPECT_FALSE(wrong.get<Drives>().classes.at(0).drives);
}

TEST(Comparison, IsAnArrayOfResultsForOtherPrograms) {
  Comparison all = comparison();
  all.runs[0].label = "memascend + optimizer.ssd_share 0";
  const json rows = rows_of(all);
  ASSERT_EQ(rows.size(), 2u);
  json first = sample_that_fits();
  first["label"] = "memascend + optimizer.ssd_share 0";
  EXPECT_EQ(rows[0], first);
  EXPECT_EQ(rows[1], (json{{"label", "lohan"},
                           {"system", "lohan"},
                           {"scenario", {{"model", "gpt2"}}},
                           {"failure", "a bug"}}));
  const Comparison read = rows.get<Comparison>();
  EXPECT_EQ(read.runs.at(0).result->step_time_s, 40);
  EXPECT_EQ(read.runs.at(0).label, "memascend + optimizer.ssd_share 0");
  EXPECT_EQ(read.runs.at(1).failure, "a bug");
}

}  // namespace
}  // namespace spillway::answer
