#include "explore/fidelity/fidelity.hpp"
#include "explore/fidelity/setups.hpp"
#include "strategies/counting/counting_machine.hpp"

#include <gtest/gtest.h>

namespace spillway::explore::fidelity_test {
namespace {

using result::Verdict;
using scenarios::Figure;
using scenarios::OpenFigure;

Backend counting() {
  return {"counting",
          [](const description::Scenario& scenario, bool) {
            return std::make_unique<strategies::CountingMachine>(scenario);
          },
          [] {}};
}

nlohmann::json scenario(const std::string& system, int micro_batch = 1) {
  return {{"model", "gpt2"},
          {"machine", "gaming_4090"},
          {"training", {{"micro_batch", micro_batch}}},
          {"strategy", {{"system", system}}}};
}

/// A figure over a: gpt2 without offloading; b: the same at twice the batch.
Figure figure(const std::string& metric, double value, double tolerance = 0) {
  Figure figure;
  figure.id = "paper.figure";
  figure.source = "Paper, Table 1";
  figure.metric = metric;
  figure.value = value;
  figure.tolerance = tolerance;
  figure.unit = "ratio";
  figure.metric_place = {"figures.json", 3, 5};
  figure.setups["a"] = scenarios::located_at(scenario("resident"), {});
  figure.setups["b"] = scenarios::located_at(scenario("resident", 2), {});
  return figure;
}

result::JudgedFigure judged(const Figure& one, const std::vector<OpenFigure>& open = {},
                            const std::vector<OpenFigure>& beyond = {}) {
  return judge(counting(), {one}, {open, beyond}).figures.at(0);
}

std::string refusal(const Figure& one) {
  try {
    judge(counting(), {one}, {});
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

// A step of twice the batch has twice the samples.
constexpr const char* batches = "b.scenario.training.micro_batch / a.scenario.training.micro_batch";

TEST(Fidelity, HoldsUpToTheToleranceAndNotBeyond) {
  EXPECT_EQ(judged(figure(batches, 2)).verdict, Verdict::ok);
  const auto high = judged(figure(batches, 1.6, 0.25));  // 2 / 1.6 = +25 %
  EXPECT_EQ(high.verdict, Verdict::ok);
  EXPECT_NEAR(*high.error, 0.25, 1e-12);
  const auto beyond = judged(figure(batches, 1.6, 0.24));
  EXPECT_EQ(beyond.verdict, Verdict::miss);
  EXPECT_EQ(beyond.reason, "+25.00 % where 24.00 % are allowed");
}

TEST(Fidelity, TakesABoundFromItsOwnSideOnly) {
  Figure least = figure(batches, 1);
  least.relation = scenarios::Relation::at_least;
  EXPECT_EQ(judged(least).verdict, Verdict::ok);
  Figure most = figure(batches, 1, 0.9);
  most.relation = scenarios::Relation::at_most;
  EXPECT_EQ(judged(most).verdict, Verdict::miss);
  most.tolerance = 1;  // 2 <= 1 + 100 %
  EXPECT_EQ(judged(most).verdict, Verdict::ok);
}

TEST(Fidelity, CountsTruthAsOneAndWhatAPurposeLacksAsZero) {
  EXPECT_EQ(*judged(figure("a.feasible", 1)).simulated, 1);
  EXPECT_EQ(*judged(figure("a.peak_bytes.gpu.by_purpose.gathered_weights", 0)).simulated, 0);
  EXPECT_EQ(*judged(figure("a.io_bytes_per_step.by_storage.tape.read + 1", 1)).simulated, 1);
}

TEST(Fidelity, DividesByTheUnit) {
  Figure one = figure("2 * 1048576 * a.feasible", 2);
  one.scale = 1 << 20;
  EXPECT_EQ(judged(one).verdict, Verdict::ok);
}

TEST(Fidelity, SeesWhichSideOfEqualAComparisonIsOn) {
  EXPECT_EQ(judged(figure(batches, 1.01)).ordering, true);   // 2 and 1.01 are above 1
  EXPECT_EQ(judged(figure(batches, 0.99)).ordering, false);  // 0.99 is below
  const std::string saving = std::string("1 - ") + batches;  // -1, equal setups would give 0
  EXPECT_EQ(judged(figure(saving, -0.5)).ordering, true);
  EXPECT_EQ(judged(figure(saving, 0.5)).ordering, false);
  EXPECT_EQ(judged(figure("a.feasible", 1)).ordering, std::nullopt);
}

TEST(Fidelity, SkipsASystemThatIsNotThereAndWhatItsScheduleRefuses) {
  Figure missing = figure("a.feasible", 1);
  missing.setups["a"] = scenarios::located_at(scenario("perpetual_motion"), {});
  EXPECT_EQ(judged(missing).verdict, Verdict::skip);
  EXPECT_EQ(judged(missing).reason, "the system perpetual_motion is not there yet");
  Figure refused = figure("a.feasible", 1);
  nlohmann::json delayed = scenario("zero_infinity");
  delayed["strategy"]["optimizer"] = {{"staleness", 2}};
  refused.setups["a"] = scenarios::located_at(delayed, {});
  EXPECT_EQ(judged(refused).verdict, Verdict::skip);
  EXPECT_THAT(words(judged(refused).reason), testing::StartsWith("strategy.optimizer.staleness: "));
}

TEST(Fidelity, HasNoValueWhereASetupDoesNotFit) {
  Figure huge = figure("a.step_time_s", 1);
  nlohmann::json large = scenario("resident");
  large["model"] = "opt-175b";
  huge.setups["a"] = scenarios::located_at(large, {});
  const auto without = judged(huge);
  EXPECT_EQ(without.verdict, Verdict::miss);
  EXPECT_EQ(without.simulated, std::nullopt);
  EXPECT_THAT(words(without.reason), testing::StartsWith("a does not fit: gpu, "));
  huge.metric = "a.feasible";
  huge.value = 0;
  huge.words["a.infeasible.tier"] = "gpu";
  EXPECT_EQ(judged(huge).verdict, Verdict::ok);
  huge.words["a.infeasible.tier"] = "host";
  EXPECT_EQ(judged(huge).verdict, Verdict::miss);
  EXPECT_EQ(judged(huge).reason, "a.infeasible.tier is \"gpu\", not host");
}

TEST(Fidelity, RefusesAMetricThatCannotBeMeant) {
  EXPECT_EQ(refusal(figure("a.feasible +", 1)),
            "figures.json:3:5: paper.figure.metric: a number, a name or a bracket is missing at "
            "character 13");
  EXPECT_EQ(refusal(figure("c.feasible", 1)),
            "figures.json:3:5: paper.figure.metric: no setup \"c\"; a name is <setup>.<path of a "
            "result>");
  EXPECT_NE(
      refusal(figure("a.peak_bytes.cpu", 1)).find("no result has \"peak_bytes.cpu\"; known: "),
      std::string::npos);
}

TEST(Fidelity, LetsAnOpenFigureBeOpenWhereItWas) {
  const Figure missing = figure(batches, 1);
  EXPECT_EQ(judged(missing, {{"paper.figure", 2.03, "why", {}}}).verdict, Verdict::open);
  EXPECT_EQ(judged(missing, {{"paper.figure", 2.03, "why", {}}}).reason, "why");
  EXPECT_EQ(judged(missing, {{"paper.figure", 2.05, "why", {}}}).verdict, Verdict::drift);
  EXPECT_EQ(judged(missing, {{"paper.figure", {}, "why", {}}}).verdict, Verdict::drift);
  EXPECT_EQ(judged(missing, {{"paper.figure", 2.0, "", {}}}).verdict, Verdict::miss);
  EXPECT_EQ(judged(missing, {{"paper.other", 2.0, "why", {}}}).verdict, Verdict::miss);
  EXPECT_EQ(judged(figure(batches, 2), {{"paper.figure", 2.0, "why", {}}}).verdict,
            Verdict::closed);
}

// Ratios have 7 % in common, whatever their own tolerance.
TEST(Fidelity, ShowsWhyAFigureIsBeyondTheCommonTolerance) {
  const Figure far = figure(batches, 1.8, 0.2);  // 2 / 1.8 = +11 %
  EXPECT_EQ(judged(far).verdict, Verdict::ok);
  EXPECT_EQ(judged(far).standing, result::Standing::unexplained);
  const result::JudgedFigure told = judged(far, {}, {{"paper.figure", 2.03, "why", {}}});
  EXPECT_EQ(told.verdict, Verdict::ok);
  EXPECT_EQ(told.reason, "why");
  EXPECT_EQ(told.standing, result::Standing::mechanism);
  const auto guessed = judged(far, {}, {{"paper.figure", 2.03, "not stated", {}, false}});
  EXPECT_EQ(guessed.reason, "not stated");
  EXPECT_EQ(guessed.standing, result::Standing::unexplained);
  const auto moved = judged(far, {}, {{"paper.figure", 2.05, "why", {}}});
  EXPECT_EQ(moved.verdict, Verdict::drift);
  EXPECT_THAT(words(moved.reason), testing::EndsWith(": why"));
  EXPECT_THAT(words(moved.reason), testing::StartsWith("was beyond the common tolerance at 2.05"));
  EXPECT_EQ(moved.standing, result::Standing::unexplained);
  const auto near = judged(figure(batches, 1.9, 0.2), {}, {{"paper.figure", 2.0, "why", {}}});
  EXPECT_EQ(near.verdict, Verdict::closed);  // +5 %
  EXPECT_EQ(near.standing, result::Standing::within);
  const auto missed = judged(figure(batches, 1.8), {}, {{"paper.figure", 2.0, "why", {}}});
  EXPECT_EQ(missed.verdict, Verdict::miss);  // belongs to the open ones
  EXPECT_EQ(missed.standing, result::Standing::unexplained);
}

TEST(Fidelity, CountsFiguresByTheCommonTolerance) {
  std::vector<Figure> all{figure(batches, 2), figure(batches, 1, 0), figure(batches, 1.8, 0.2),
                          figure(batches, 1.7, 0.2)};
  for (std::size_t i = 0; i < all.size(); ++i) all[i].id = "paper." + std::to_string(i);
  const scenarios::KnownFigures known{{{"paper.1", 2.0, "why", {}}},
                                      {{"paper.2", 2.0, "not stated", {}, false}}};
  const auto counts = judge(counting(), all, known).overall;
  EXPECT_EQ(counts.within, 1u);
  EXPECT_EQ(counts.mechanism, 1u);
  EXPECT_EQ(counts.unexplained, 2u);  // one of a cause that is not known, one without a word
}

TEST(Fidelity, LetsNoFigureBeOpenThatParametersAreFittedOn) {
  Figure fitted = figure(batches, 1);
  fitted.fit = true;
  const result::JudgedFigure missed = judged(fitted, {{"paper.figure", 2.03, "why", {}}});
  EXPECT_EQ(missed.verdict, Verdict::miss);
  EXPECT_EQ(missed.reason, "parameters are fitted on it, so it may not be open: why");
}

TEST(Fidelity, RecordsWhatDoesNotHoldAndKeepsReasons) {
  const auto record = [](const Figure& one, const std::vector<OpenFigure>& open) {
    return recorded(judge(counting(), {one}, {open, {}}), {open, {}}).open;
  };
  const auto fresh = record(figure(batches, 1), {});
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].simulated, 2);
  EXPECT_EQ(fresh[0].reason, "");
  const std::vector<OpenFigure> before{{"paper.figure", 3.0, "why", {}}, {"paper.x", 1.0, "y", {}}};
  const auto moved = record(figure(batches, 1), before);
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(moved[0].simulated, 2);
  EXPECT_EQ(moved[0].reason, "why");
  EXPECT_EQ(moved[1].id, "paper.x");  // was not asked for
  const auto held = record(figure(batches, 2), before);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].id, "paper.x");
}

TEST(Fidelity, RecordsWhatIsBeyondTheCommonToleranceWhereItWasListed) {
  const auto record = [](const Figure& one, const scenarios::KnownFigures& known) {
    return recorded(judge(counting(), {one}, known), known);
  };
  const Figure far = figure(batches, 1.8, 0.2);
  const OpenFigure told{"paper.figure", 3.0, "why", {}, false};
  EXPECT_TRUE(record(far, {}).beyond.empty());  // nobody has found a reason
  const auto kept = record(far, {{}, {told, {"paper.x", 1.0, "y", {}}}});
  ASSERT_EQ(kept.beyond.size(), 2u);
  EXPECT_EQ(kept.beyond[0].simulated, 2);
  EXPECT_EQ(kept.beyond[0].reason, "why");
  EXPECT_FALSE(kept.beyond[0].established);
  EXPECT_EQ(kept.beyond[1].id, "paper.x");  // was not asked for
  EXPECT_TRUE(kept.open.empty());
  EXPECT_TRUE(record(figure(batches, 1.9, 0.2), {{}, {told}}).beyond.empty());
  const auto worse = record(figure(batches, 1.8), {{}, {told}});
  EXPECT_TRUE(worse.beyond.empty());
  ASSERT_EQ(worse.open.size(), 1u);
  EXPECT_EQ(worse.open[0].reason, "why");
  const auto better = record(far, {{told}, {}});
  EXPECT_TRUE(better.open.empty());
  ASSERT_EQ(better.beyond.size(), 1u);
  EXPECT_EQ(better.beyond[0].reason, "why");
}

TEST(Setups, AreOneScenarioWhenOnlyTheirNamesDiffer) {
  Figure one = figure("a.feasible", 1);
  one.setups["a"].value["name"] = "first";
  one.setups["b"] = one.setups["a"];
  one.setups["b"].value["name"] = "second";
  one.setups["c"] = scenarios::located_at(scenario("resident", 3), {});
  const Setups setups = resolve_setups({one, one});
  EXPECT_EQ(setups.scenarios.size(), 2u);
  EXPECT_EQ(setups.of.at(1).at("a").run, setups.of.at(0).at("b").run);
  EXPECT_NE(setups.of.at(0).at("c").run, setups.of.at(0).at("a").run);
}

TEST(Filtered, LooksAtIdAndSource) {
  const std::vector<Figure> all{figure(batches, 1)};
  EXPECT_EQ(filtered(all, "").size(), 1u);
  EXPECT_EQ(filtered(all, "r.fig").size(), 1u);
  EXPECT_EQ(filtered(all, "Table 1").size(), 1u);
  EXPECT_EQ(filtered(all, "Table 2").size(), 0u);
}

}  // namespace
}  // namespace spillway::explore::fidelity_test
