#include "explore/trials/spread.hpp"
#include "scenarios/description/pinned_interval.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/explore/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::explore {
namespace {

using nlohmann::json;

description::Scenario gpt2(const std::vector<std::string>& overrides = {}) {
  const json scenario = {
      {"model", "gpt2"}, {"machine", "gaming_4090"}, {"strategy", {{"system", "zero_offload"}}}};
  return scenarios::read_scenario(scenario, overrides, known_systems()).scenario;
}

std::vector<std::string> names_of(const std::vector<SpreadGroup>& groups) {
  std::vector<std::string> names;
  for (const SpreadGroup& group : groups) names.push_back(group.name);
  return names;
}

TEST(OpenGroups, AreThoseOfNumbersThatNobodyStates) {
  description::MachineFile machine = gpt2().machine;
  EXPECT_THAT(names_of(open_groups(machine)), testing::IsSupersetOf({"gpu", "adam", "host"}));
  for (auto& [path, source] : machine.sources)
    if (path == "host.adam") source = "measured: here";
  EXPECT_THAT(names_of(open_groups(machine)), testing::Not(testing::Contains("adam")));
  EXPECT_THAT(names_of(open_groups(machine)), testing::Contains("processor"));
  for (auto& [path, source] : machine.sources) source = "measured: here";
  EXPECT_TRUE(open_groups(machine).empty());
}

TEST(OpenGroups, HoldFittedNumbersThatSeveralFiguresPin) {
  description::Scenario scenario = gpt2();
  description::MachineFile& machine = scenario.machine;
  for (auto& [path, source] : machine.sources) source = "measured: here";
  const double adam = machine.host.adam.value();
  const auto pin = [&](double low, double high) {
    const auto written = [](double rate) { return std::to_string(rate / 1e9) + " Gparam/s"; };
    machine.sources["host.adam"] = description::with_interval(
        "fitted: a paper", {written(low), written(high), {"one", "other"}});
  };
  pin(adam, adam);
  EXPECT_TRUE(open_groups(machine).empty());  // both say the same
  pin(adam / 2, adam);
  const auto groups = open_groups(machine);
  ASSERT_EQ(names_of(groups), std::vector<std::string>{"host.adam"});
  EXPECT_NEAR(groups[0].low, 0.5, 1e-5);
  EXPECT_NEAR(groups[0].high, 1, 1e-5);
  const result::Result now = simulate(sim(), scenario);
  const auto [low, high] = range_of(sim(), scenario, now, 1).at("step_time_s");
  EXPECT_LE(low, now.step_time_s);
  EXPECT_GT(high, now.step_time_s);
  // the other way it is the fast end that moves
  pin(adam, 2 * adam);
  EXPECT_LT(range_of(sim(), scenario, now, 1).at("step_time_s").first, now.step_time_s);
}

TEST(Moved, ScalesTheNumbersOfAGroupAndNoOther) {
  const description::MachineFile machine = gpt2().machine;
  const SpreadGroup adam{"adam", {"host.adam"}, 0.2, 1.5};
  const SpreadGroup drives{"drives", {"storage.nvme.mixed_efficiency"}, 0.75, 1.15};
  const auto other = moved(machine, {{adam, 0.5}, {drives, 2}});
  EXPECT_DOUBLE_EQ(other.host.adam.value(), machine.host.adam.value() / 2);
  EXPECT_EQ(other.host.convert.value(), machine.host.convert.value());
  EXPECT_EQ(other.storage[0].mixed_efficiency, 1);  // a share is at most the whole
}

// A size and a duration that slow the step: the low end is the larger one.
TEST(Moved, DividesWhatSlowsTheStep) {
  const description::MachineFile machine = gpt2().machine;
  std::vector<std::pair<SpreadGroup, double>> slow;
  for (const SpreadGroup& group : open_groups(machine))
    if (group.slows) slow.emplace_back(group, 0.5);
  ASSERT_EQ(slow.size(), 2U);
  const auto other = moved(machine, slow);
  EXPECT_DOUBLE_EQ(other.gpu.matrix_half, 2 * machine.gpu.matrix_half);
  EXPECT_DOUBLE_EQ(other.host.module_hooks.value(), 2 * machine.host.module_hooks.value());
}

TEST(RangeOf, HoldsTheAnswerAndRepeatsForASeed) {
  const description::Scenario scenario = gpt2({"run.tokens=1e9"});
  const result::Result now = simulate(sim(), scenario);
  const auto range = range_of(sim(), scenario, now, 1);
  const auto [low, high] = range.at("step_time_s");
  EXPECT_LE(low, now.step_time_s);
  EXPECT_GT(high, now.step_time_s);
  const double tokens = now.tokens_per_s * now.step_time_s;
  EXPECT_NEAR(range.at("throughput.tokens_per_s").first, tokens / high, 1e-6);
  EXPECT_NEAR(range.at("run.days").second, now.run->days * high / now.step_time_s, 1e-9);
  EXPECT_EQ(range_of(sim(), scenario, now, 1), range);
  EXPECT_NE(range_of(sim(), scenario, now, 2), range);
}

TEST(RangeOf, IsNothingWhereEverythingIsMeasured) {
  description::Scenario scenario = gpt2();
  for (auto& [path, source] : scenario.machine.sources) source = "measured: here";
  EXPECT_TRUE(range_of(sim(), scenario, simulate(sim(), scenario), 1).empty());
}

TEST(RangeOf, NoWiderThanTheStepWithEveryGroupAtItsWorstAndAtItsBest) {
  const description::Scenario scenario = gpt2();
  description::Scenario worst = scenario, best = scenario;
  std::vector<std::pair<SpreadGroup, double>> lowest, highest;
  for (const SpreadGroup& group : open_groups(scenario.machine)) {
    if (group.name == "endurance" || group.name == "prices") continue;
    lowest.emplace_back(group, group.low);
    highest.emplace_back(group, group.high);
  }
  worst.machine = moved(scenario.machine, lowest);
  best.machine = moved(scenario.machine, highest);
  const auto [low, high] =
      range_of(sim(), scenario, simulate(sim(), scenario), 1).at("step_time_s");
  EXPECT_LE(high, simulate(sim(), worst).step_time_s);
  EXPECT_GE(low, simulate(sim(), best).step_time_s);
}

// With faster updates the equations swap to drives, which makes the step longer: 5.1 s for 4.7 s.
TEST(RangeOf, KeepsTheAmountThatIsSwappedWhereNoOtherPlansAreTried) {
  const json scenario = {{"model", "llama-3.1-8b"},
                         {"machine",
                          {{"extends", "workstation_2gpu"},
                           {"gpu", {{"memory", "24 GiB"}, {"compute", {{"bf16", "132 TFLOPS"}}}}},
                           {"host", {{"memory", "128 GiB"}}},
                           {"network", {{"per_gpu", "25.2 GB/s"}}}}},
                         {"training", {{"micro_batch", 2}, {"sequence", 4096}, {"loss", "plain"}}},
                         {"parallel", {{"data", 2}}},
                         {"strategy",
                          {{"system", "lohan"},
                           {"pinned", "exact"},
                           {"optimizer", {{"home", "host"}}},
                           {"weights", {{"home", "host"}}}}}};
  const auto read = [&](const std::vector<std::string>& overrides) {
    return scenarios::read_scenario(scenario, overrides, known_systems()).scenario;
  };
  const Effort own_plan{WhenFull::stop, false};
  const description::Scenario lohan = read({});
  const auto now = simulate(sim(), lohan, nullptr, own_plan);
  ASSERT_TRUE(now.feasible());
  const auto planned_anew =
      simulate(sim(), read({"machine.host.adam=\"3.5 Gparam/s\""}), nullptr, own_plan);
  ASSERT_GT(planned_anew.step_time_s, 1.05 * now.step_time_s);
  const auto [low, high] = range_of(sim(), lohan, now, 1, own_plan).at("step_time_s");
  EXPECT_LT(low, 0.99 * now.step_time_s);
  EXPECT_GT(high, 1.01 * now.step_time_s);
}

}  // namespace
}  // namespace spillway::explore
