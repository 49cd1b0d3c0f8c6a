#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

/// A bug of the program is said in its place, with exit code 4, and is no answer to anything.
namespace spillway::e2e::bugs_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string bug = "tests/e2e/faulty_simulator.cpp";

/// Runs the line with a simulator that fails for `system` from so many tokens on.
Ended with_bug(const std::string& system, int tokens, const std::string& line) {
  const Workplace place;
  const fs::path real = fs::path(SPILLWAY_PROGRAM).parent_path().parent_path() / "lib/spillway";
  fs::create_directory(place.path() / "plugins");
  for (const auto& entry : fs::directory_iterator(real))
    if (entry.path().filename() != "spillway_sim.so")
      fs::create_symlink(entry.path(), place.path() / "plugins" / entry.path().filename());
  fs::create_symlink(SPILLWAY_FAULTY_SIMULATOR, place.path() / "plugins/spillway_sim.so");
  return shell(place, "export SPILLWAY_PLUGINS=$PWD/plugins SPILLWAY_TEST_SIMULATOR=" +
                          (real / "spillway_sim.so").string() + " SPILLWAY_TEST_SYSTEM=" + system +
                          " SPILLWAY_TEST_TOKENS=" + std::to_string(tokens) + "\n" + line);
}

const std::string gpt2 =
    "scenarios/examples/tiny.json --set model=gpt2 --set machine=gaming_4090 --set "
    "training.sequence=512 --set run.steps=1 ";

TEST(Bugs, SimulateSaysWhereInTheProjectAndLeavesWithFour) {
  const Ended ended = with_bug(
      "lohan", 512, "spillway simulate " + gpt2 + "--set 'strategy={\"system\": \"lohan\"}'");
  EXPECT_EQ(ended.exit, 4);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith("a bug of spillway: " + bug + ":"));
  EXPECT_THAT(ended.err, HasSubstr("one and one is three"));
  EXPECT_THAT(ended.err, Not(HasSubstr(SPILLWAY_SOURCE_DIR)));
}

TEST(Bugs, CompareAnswersForTheOtherSystems) {
  const std::string line = "spillway compare " + gpt2 + "--system resident,lohan,zero_offload";
  const Ended table = with_bug("lohan", 512, line);
  EXPECT_EQ(table.exit, 4);
  EXPECT_THAT(table.out, AllOf(HasSubstr("resident "), HasSubstr("zero_offload\n")));
  EXPECT_THAT(line_of(table.out, "fits"), HasSubstr("yes"));
  EXPECT_THAT(table.out, HasSubstr("a bug of spillway"));
  EXPECT_THAT(table.err, HasSubstr("a bug of spillway: " + bug));
  const Ended ended = with_bug("lohan", 512, line + " --json");
  EXPECT_EQ(ended.exit, 4);
  const nlohmann::json all = ended.json();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].at("feasible"));
  EXPECT_EQ(all[1].at("system"), "lohan");
  EXPECT_THAT(all[1].at("failure").get<std::string>(), StartsWith("a bug of spillway: " + bug));
  EXPECT_FALSE(all[1].contains("feasible"));
  EXPECT_TRUE(all[2].at("feasible"));
  EXPECT_EQ(with_bug("angel_ptm", 512, line).exit, 0);
}

/// gpt2 has 1024 positions: 1024 would be the longest context if 896 were not where the bug begins.
TEST(Bugs, PlanTakesNoneForALimit) {
  const Ended ended = with_bug("zero_offload", 896,
                               "spillway plan largest --model gpt2 --machine gaming_4090 "
                               "--sequence 512 --system zero_offload");
  EXPECT_EQ(ended.exit, 4);
  std::string text = ended.out;  // sentences are broken at spaces, wherever
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_THAT(text, HasSubstr("Longest context at micro-batch 1: context 832; no answer for "
                              "context 896, context 960, context 1024: a bug of spillway"));
  EXPECT_THAT(text, Not(HasSubstr("context 896 does not")));
  EXPECT_THAT(ended.err, HasSubstr(bug));
  // of the many that were tried the one to report
  const std::string before = "report it with the scenario, ";
  const std::size_t at = ended.err.find(before);
  ASSERT_NE(at, std::string::npos) << ended.err;
  const fs::path file =
      ended.err.substr(at + before.size(), ended.err.find('\n', at) - at - before.size());
  const nlohmann::json scenario = nlohmann::json::parse(std::ifstream(file));
  EXPECT_GE(scenario.at("training").at("sequence").get<int>(), 896);
  fs::remove(file);
}

TEST(Bugs, ExploreFindsTheFrontOfTheRest) {
  const Ended ended = with_bug("lohan", 512,
                               R"(cat > space.json <<END
{"name": "two", "base": {"model": "gpt2", "machine": "gaming_4090",
                         "training": {"sequence": 512}, "strategy": {"system": "resident"}},
 "axes": {"strategy.system": ["zero_offload", "lohan"]},
 "objectives": {"step_time_s": "min"}}
END
spillway explore space.json --db two.db --simulate-all --json)");
  EXPECT_EQ(ended.exit, 4);
  EXPECT_EQ(ended.json().at("failed"), 1);
  ASSERT_EQ(ended.json().at("front").size(), 1u);
  EXPECT_THAT(ended.err, HasSubstr("a bug of spillway: " + bug));
}

}  // namespace
}  // namespace spillway::e2e::bugs_test
