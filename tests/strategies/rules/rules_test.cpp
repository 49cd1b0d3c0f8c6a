#include "strategies/rules/rules.hpp"

#include <gmock/gmock.h>
#include <set>

#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

/// The engine over tables of its own.
namespace spillway::strategies::rules {
namespace {

using namespace description;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::string> in_words(const std::vector<Complaint>& complaints) {
  std::vector<std::string> all;
  for (const Complaint& one : complaints) all.push_back(to_string(one));
  return all;
}

/// What the rows of `table` say of a scenario of which people wrote the paths `written`.
Verdict ask(Table table, Scenario& scenario, const std::set<std::string>& written = {},
            Refuse refuse = Refuse::what_cannot_run) {
  const Written says = [&](const std::string& path) { return written.contains(path); };
  return check({&table, 1}, scenario, {scenario, nullptr, nullptr, &says}, refuse);
}

bool has_no_pool_on_gpu(const Case& c) {
  return c.parts().weights.pool == PoolKind::none || c.parts().weights.home == Home::ssd;
}

constexpr Rule pool_of_gpu[] = {
    {.path = "strategy.weights.pool",
     .other = "strategy.weights.home",
     .ground = Ground::contradiction,
     .holds = has_no_pool_on_gpu,
     .why = "a pool is for SSDs",
     .hint = "write none",
     .settles = {[](Scenario& s) { s.strategy.weights.pool = PoolKind::none; }, "no SSD, no pool"}},
};

Scenario with_pool() {
  Scenario scenario;
  scenario.strategy.weights.pool = PoolKind::adaptive;
  return scenario;
}

TEST(Rules, ABrokenRowSettlesWhatNobodyWrote) {
  Scenario scenario = with_pool();
  const Verdict verdict = ask(pool_of_gpu, scenario, {"strategy.weights.home"});
  EXPECT_EQ(scenario.strategy.weights.pool, PoolKind::none);
  EXPECT_THAT(verdict.settled.reasons,
              ElementsAre(Pair("strategy.weights.pool", "no SSD, no pool")));
  EXPECT_THAT(verdict.settled.warnings, IsEmpty());
  EXPECT_THAT(verdict.complaints, IsEmpty());
}

TEST(Rules, ARowThatHoldsSettlesNothing) {
  Scenario scenario;
  EXPECT_THAT(ask(pool_of_gpu, scenario).settled.reasons, IsEmpty());
}

TEST(Rules, AValueThatFollowsHasItsReasonWhereDefaultsSayTheSame) {
  Rule follows = pool_of_gpu[0];
  follows.settles.follows = [](const Case& c) { return c.parts().weights.home == Home::gpu; };
  Scenario scenario;
  EXPECT_EQ(ask({&follows, 1}, scenario).settled.reasons.size(), 1u);
  scenario.strategy.weights.home = Home::ssd;
  EXPECT_THAT(ask({&follows, 1}, scenario).settled.reasons, IsEmpty());
}

TEST(Rules, WhatIsWrittenIsRefusedWithBothValuesWhereItIsWritten) {
  const char* words =
      "weights.pool \"adaptive\" contradicts weights.home \"gpu\": a pool is for SSDs; write none";
  Scenario scenario = with_pool();
  const auto words_at = [&](const std::string& path) { return path + ": " + words; };
  EXPECT_THAT(in_words(ask(pool_of_gpu, scenario, {"strategy.weights.pool"}).complaints),
              ElementsAre(words_at("strategy.weights.pool")));
  EXPECT_THAT(
      in_words(ask(pool_of_gpu, scenario, {"strategy.weights.pool", "strategy.weights.home"})
                   .complaints),
      ElementsAre(words_at("strategy.weights.pool")));
  EXPECT_EQ(scenario.strategy.weights.pool, PoolKind::adaptive);
}

TEST(Rules, ARowThatOnlyExcludesStandsAtTheOneThatIsWritten) {
  Rule only_excludes = pool_of_gpu[0];
  only_excludes.settles = {};
  Scenario scenario = with_pool();
  const auto path_for = [&](const std::set<std::string>& written) {
    return ask({&only_excludes, 1}, scenario, written).complaints.at(0).path;
  };
  EXPECT_EQ(path_for({}), "strategy.weights.pool");
  EXPECT_EQ(path_for({"strategy.weights.home"}), "strategy.weights.home");
  EXPECT_EQ(path_for({"strategy.weights.pool"}), "strategy.weights.pool");
}

TEST(Rules, ARowMayChangeWhatIsWrittenAndSaysSo) {
  Rule warns = pool_of_gpu[0];
  warns.settles.over_written = true;
  warns.warning = [](const Case& c) {
    return c.says("strategy.weights.pool") ? std::string("is none here") : std::string();
  };
  Scenario scenario = with_pool();
  EXPECT_THAT(ask({&warns, 1}, scenario, {"strategy.weights.pool"}).settled.warnings,
              ElementsAre("strategy.weights.pool: is none here"));
  EXPECT_EQ(scenario.strategy.weights.pool, PoolKind::none);
  scenario = with_pool();
  EXPECT_THAT(ask({&warns, 1}, scenario).settled.warnings, IsEmpty());
}

TEST(Rules, ARowSeesWhatTheRowsBeforeItSettled) {
  const Rule rows[] = {
      {.path = "strategy.optimizer.order",
       .holds =
           [](const Case& c) {
             return c.parts().gradients.policy != GradientPolicy::active ||
                    c.parts().optimizer.order == SubgroupOrder::descending;
           },
       .why = "last first"},  // asked before the next row settles, and refuses after it
      {.path = "strategy.gradients.policy",
       .holds = [](const Case& c) { return c.parts().gradients.policy != GradientPolicy::active; },
       .settles = {[](Scenario& s) { s.strategy.gradients.policy = GradientPolicy::host_fp16; },
                   "not here"}},
      {.path = "strategy.gradients.convert",
       .holds =
           [](const Case& c) {
             return c.parts().gradients.policy != GradientPolicy::host_fp16 ||
                    c.parts().gradients.convert == ConvertOn::cpu;
           },
       .settles = {[](Scenario& s) { s.strategy.gradients.convert = ConvertOn::cpu; }, "so"}},
  };
  Scenario scenario;
  scenario.strategy.gradients.policy = GradientPolicy::active;
  EXPECT_THAT(ask(rows, scenario).complaints, IsEmpty());
  EXPECT_EQ(scenario.strategy.gradients.convert, ConvertOn::cpu);
}

TEST(Rules, ARowWithItemsHasAComplaintForEach) {
  const Rule items[] = {{.path = "strategy.optimizer.paths.{}",
                         .broken_by =
                             [](const Case&) {
                               return std::vector<std::string>{"one", "two"};
                             },
                         .why = [](const Case& c) { return "no " + c.item; }}};
  Scenario scenario;
  EXPECT_THAT(
      in_words(ask(items, scenario).complaints),
      ElementsAre("strategy.optimizer.paths.one: no one", "strategy.optimizer.paths.two: no two"));
}

TEST(Rules, OnlyTheGroundsThatAreAskedForRefuse) {
  const auto never = [](const Case&) { return false; };
  const Rule rows[] = {
      {.path = "a", .ground = Ground::contradiction, .holds = never, .why = "nobody can"},
      {.path = "b", .holds = never, .why = "no schedule"},
      {.path = "c", .ground = Ground::no_stream, .holds = never, .why = "no stream"}};
  Scenario scenario;
  const auto said = [&](Refuse refuse) {
    return in_words(ask(rows, scenario, {}, refuse).complaints);
  };
  EXPECT_THAT(said(Refuse::contradictions), ElementsAre("a: nobody can"));
  EXPECT_THAT(said(Refuse::no_schedule), ElementsAre("b: no schedule", "c: no stream"));
  scenario.run.io_bench.emplace();  // nothing is trained, so no schedule is asked
  EXPECT_THAT(said(Refuse::what_cannot_run), ElementsAre("a: nobody can", "c: no stream"));
}

int made = 0;

TEST(Rules, AMessageIsMadeOnlyWhereItsRowIsBroken) {
  const auto make = [](const Case&) { return "text " + std::to_string(++made); };
  const Rule rows[] = {
      {.path = "a", .holds = [](const Case&) { return true; }, .why = make, .hint = make},
      {.path = "b", .holds = [](const Case&) { return false; }, .why = make, .hint = make}};
  Scenario scenario;
  EXPECT_THAT(in_words(ask(rows, scenario).complaints), ElementsAre("b: text 1; text 2"));
}

TEST(Rules, APlannedSystemIsToldToHaveNoContextRanks) {
  Scenario scenario = small_model("llama", "teraio");
  scenario.parallel.context = 2;
  std::string hints;
  for (const Complaint& one : refusals(all(), {scenario}, Refuse::no_schedule))
    if (one.path == "parallel.context") hints += one.hint + "\n";
  EXPECT_NE(hints.find("write parallel.context 1, and parallel.pipeline for more GPUs\n"),
            std::string::npos)
      << hints;
}

// Two nodes of 4 GPUs: 3 x 2 ranks fill 1.5 of them, 2 x 2 one, 4 x 2 both.
TEST(Rules, RanksThatDoNotFillNodesAreToldHowManyDo) {
  Scenario scenario = small_model("llama", "resident");
  scenario.machine.gpu.count = 4;
  scenario.machine.nodes = 2;
  scenario.parallel.context = 2;
  scenario.parallel.data = 3;
  std::string hints;
  for (const Complaint& one : refusals(all(), {scenario}, Refuse::no_schedule))
    if (one.path == "parallel.data") hints += one.hint + "\n";
  EXPECT_NE(hints.find("use a multiple of 2, or"), std::string::npos) << hints;
}

}  // namespace
}  // namespace spillway::strategies::rules
