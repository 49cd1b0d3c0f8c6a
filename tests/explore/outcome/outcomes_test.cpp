#include "explore/outcome/outcomes.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "strategies/counting/counting_machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "tests/explore/simulator.hpp"
#include "tests/long_test.hpp"
#include "tests/scenarios/temporary_files.hpp"

namespace spillway::explore {
namespace {

description::Scenario named(const std::string& name) {
  const nlohmann::json scenario = {{"name", name},
                                   {"model", "gpt2"},
                                   {"machine", "gaming_4090"},
                                   {"strategy", {{"system", "resident"}}}};
  return scenarios::read_scenario(scenario, {}, known_systems()).scenario;
}

/// A machine that does to its scenario what the name asks for.
Backend moody() {
  Backend backend;
  backend.name = "counting";
  backend.prepare = [] {};
  backend.open = [](const description::Scenario& scenario, bool) {
    if (scenario.name == "crashes") std::raise(SIGKILL);
    if (scenario.name == "leaves") ::_exit(7);
    if (scenario.name == "faults") {
      std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's own handler would end it otherwise
      std::raise(SIGSEGV);
    }
    if (scenario.name == "hangs") ::sleep(1000);
    if (scenario.name == "complains")
      throw description::ScenarioError({{"a.json", 3, 4, "training", "is odd", "make it even"}});
    if (scenario.name == "breaks") throw description::InternalError("one and one is three");
    return std::make_unique<strategies::CountingMachine>(scenario);
  };
  return backend;
}

std::vector<Outcome> outcomes_of(const std::vector<std::string>& names, std::size_t jobs,
                                 double limit_s = 600) {
  std::vector<description::Scenario> scenarios;
  for (const std::string& name : names) scenarios.push_back(named(name));
  return simulate_all(moody(), scenarios, jobs, limit_s);
}

TEST(SimulateAll, AnswersInTheOrderOfTheScenariosWhateverHappensToSome) {
  for (const std::size_t jobs : {1, 3, 100}) {
    const auto outcomes =
        outcomes_of({"one", "crashes", "two", "leaves", "complains", "breaks", "three"}, jobs);
    ASSERT_EQ(outcomes.size(), 7u);
    ASSERT_TRUE(outcomes[0].result && outcomes[2].result && outcomes[6].result) << jobs;
    EXPECT_EQ(outcomes[2].result->scenario.at("name"), "two");
    EXPECT_EQ(outcomes[1].failure, "the simulation was ended by signal Killed");
    EXPECT_EQ(outcomes[3].failure, "a bug of spillway: the simulation ended without a result");
    EXPECT_EQ(outcomes[5].failure, "a bug of spillway: one and one is three");
    EXPECT_FALSE(outcomes[1].result || outcomes[3].result || outcomes[5].result);
  }
}

TEST(SimulateAll, IsEndedByItsWatchAndKeepsWhatWasDone) {
  Backend backend = moody();
  std::size_t done = 0;
  backend.watch = [&done](std::size_t more) { return (done += more) < 1; };
  std::vector<description::Scenario> scenarios;
  for (const char* name : {"one", "hangs", "two", "three"}) scenarios.push_back(named(name));
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = simulate_all(backend, scenarios, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(100));
  EXPECT_TRUE(outcomes[0].result);
  for (const std::size_t i : {1, 2, 3}) {
    EXPECT_TRUE(outcomes[i].not_tried) << i;
    EXPECT_EQ(outcomes[i].failure, "not tried");
  }
}

/// Whoever asked: what a bug kept from the answer is known to the program as a whole.
TEST(SimulateAll, TellsOfBugsAndOfNothingElse) {
  std::vector<std::string> told;
  Backend backend = moody();
  backend.on_bug = [&told](const std::string& failure, const std::string& scenario) {
    told.push_back(failure);
    EXPECT_NE(scenario.find("model"), std::string::npos);
  };
  std::vector<description::Scenario> scenarios;
  for (const char* name : {"one", "crashes", "breaks", "complains", "faults"})
    scenarios.push_back(named(name));
  const auto outcomes = simulate_all(backend, scenarios, 2);
  ASSERT_EQ(told.size(), 2u);  // a process that was killed from outside is none
  EXPECT_EQ(told[0], "a bug of spillway: one and one is three");
  EXPECT_EQ(told[1], "a bug of spillway: the simulation was ended by signal Segmentation fault");
  EXPECT_TRUE(description::is_bug(outcomes[2].failure));
  EXPECT_FALSE(description::is_bug(outcomes[1].failure));
}

TEST(SimulateAll, HandsComplaintsOverWhole) {
  const auto outcomes = outcomes_of({"complains"}, 1);
  ASSERT_EQ(outcomes.at(0).complaints.size(), 1u);
  EXPECT_EQ(to_string(outcomes[0].complaints[0]), "a.json:3:4: training: is odd; make it even");
  EXPECT_FALSE(outcomes[0].result);
  EXPECT_EQ(outcomes[0].failure, "");
}

TEST(SimulateAll, EndsWhatExceedsTheLimitAndNothingElse) {
  LONG_TEST();
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = outcomes_of({"hangs", "one", "hangs", "two"}, 2, 5);
  EXPECT_EQ(outcomes[0].failure, "the simulation exceeded its time limit");
  EXPECT_EQ(outcomes[2].failure, "the simulation exceeded its time limit");
  EXPECT_TRUE(outcomes[1].result && outcomes[3].result);
  // each of the two waits at most its own limit
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST(SimulateAll, OfNothingIsNothing) { EXPECT_TRUE(outcomes_of({}, 2).empty()); }

// A pipe holds 64 KiB; what is longer comes in pieces.
TEST(SimulateAll, GivesTheResultOfTheSameRunInThisProcess) {
  const std::string name(200'000, 'x');
  const auto outcomes = outcomes_of({name}, 1);
  nlohmann::json apart = *outcomes.at(0).result;
  nlohmann::json here = simulate(moody(), named(name));
  apart.erase("wall");
  here.erase("wall");
  EXPECT_EQ(apart, here);
}

TEST(Simulate, ThrowsWhatTheBackendThrows) {
  EXPECT_THROW(simulate(moody(), named("complains")), description::ScenarioError);
  EXPECT_THROW(simulate(moody(), named("breaks")), description::InternalError);
}

// A drive's cache is full when the first two steps begin; each step that leaves the drive alone for
// a while makes room for the next.
TEST(Simulate, OneMeasuredStepIsAsLongAsThoseBehindIt) {
  const auto seconds = [](std::uint64_t steps) {
    const nlohmann::json scenario = {
        {"extends", scenarios::shipped_file("scenarios/examples", "mix_8b_workstation")},
        {"training", {{"micro_batch", 16}}},
        {"strategy", {{"activations", {{"swap_bytes", "93683974144 B"}}}}},
        {"run", {{"steps", steps}}}};
    const scenarios::TemporaryFiles files;
    const auto read = scenarios::read_scenario(
        std::filesystem::path(files.write("a.json", scenario.dump())), {}, known_systems());
    return simulate(sim(), read.scenario).step_time_s;
  };
  const double many = seconds(4);
  EXPECT_NEAR(seconds(1), many, 0.005 * many);
}

}  // namespace
}  // namespace spillway::explore
