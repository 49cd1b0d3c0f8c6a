#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

/// Inputs of people who mean no good, or slipped: errors in words, whatever the characters.
namespace spillway::e2e::hostile_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// As bash runs it, which can write any character.
Ended bash(const Workplace& place, const std::string& line) {
  place.write("line.sh", line);
  return shell(place, "bash line.sh");
}
Ended here(const std::string& line) { return bash(Workplace(), line); }

TEST(Characters, WhateverTheyAreAnErrorIsJson) {
  const std::string simulate = "spillway simulate scenarios/examples/tiny.json --json --set ";
  for (const std::string& line :
       {simulate + "training.micro_batch=$(printf '漢%.0s' {1..30})",
        simulate + "$'training.micro_batch=\\xff'", simulate + "'machine.host.memory=[\"64 GiB\"]'",
        simulate + "'machine.host.memory={\"a\": 1}'",
        std::string("spillway simulate $'\\xff.json' --json"),
        std::string("spillway explore show $'\\xff.db' --json")}) {
    const Ended ended = here(line);
    EXPECT_EQ(ended.exit, 2) << line << ended.err;
    EXPECT_FALSE(ended.json().at("errors").empty()) << line;
  }
}

TEST(Characters, OfFilesAndOptionsDoNotReachATerminal) {
  const Workplace place;
  place.write("keys.json", R"({"\u001b[2J\u009b31m\u202e": 1})");
  for (const char* line :
       {"spillway simulate keys.json", "spillway $'\\e[2Jx'", "spillway simulate $'\\e[2Jx.json'",
        "spillway simulate tiny --set $'na\\e[2Jme=3'", "spillway model $'\\e]0;x\\a'",
        "spillway compare tiny --system $'lo\\e[2Jhan'"}) {
    const Ended ended = bash(place, line);
    EXPECT_EQ(ended.exit, 2) << line;
    for (const char* bad : {"\x1b", "\x07", "\u009b", "\u202e"})
      EXPECT_THAT(ended.err, Not(HasSubstr(bad))) << line;
  }
  const Ended named =
      bash(place, "spillway simulate tiny --set $'name=a\\xc2\\x9bb\\xe2\\x80\\xaec'");
  EXPECT_EQ(named.exit, 0);
  EXPECT_THAT(named.out, HasSubstr("a b c: "));
}

TEST(Spreadsheets, ComputeNothingFromNames) {
  const Ended ended = here("spillway simulate tiny --csv --set 'name==1+cmd|x'");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\n'=1+cmd|x,"));
}

TEST(SlurmScript, HasOptionsAsOneWordEachOrRefusesThem) {
  const std::string line = "spillway explore scenarios/spaces/ssds_until_gpu_limit.json --slurm 2 ";
  const Ended spaced = here(line + "--db a --budget '10 min'");
  EXPECT_THAT(spaced.out, HasSubstr("--budget '10 min' --shard"));
  const Ended command = here(line + "--db a --budget '$(touch x)'");
  EXPECT_EQ(command.exit, 2);
  EXPECT_EQ(command.out, "");
  const Ended broken = here(line + "--db $'a\\ntouch x'");
  EXPECT_EQ(broken.exit, 0);
  std::istringstream lines(broken.out);
  for (std::string one; std::getline(lines, one);)
    EXPECT_TRUE(one.starts_with("#") || one.starts_with("exec /")) << one;
}

TEST(Numbers, ThatAreNoneAreRefused) {
  for (const char* line :
       {"plan machine --model gpt2 --tokens-per-day 1 --budget nan",
        "plan machine --model gpt2 --tokens-per-day nan --budget 1",
        "plan drives scenarios/examples/tiny.json --lifetime nan",
        "plan drives scenarios/examples/tiny.json --limit nan",
        "plan drives scenarios/examples/tiny.json --most 18446744073709551615",
        "model gpt2 --dropout nan", "worker --limit inf", "worker --jobs 100000"}) {
    const Ended ended = spillway(line);
    EXPECT_EQ(ended.exit, 2) << line << ended.out;
    EXPECT_THAT(ended.err, HasSubstr("command line: --")) << line;
  }
}

TEST(Files, OfTheWrongKindAreRefusedAndPipesAreRead) {
  for (const char* line : {"simulate /dev/zero", "model /dev/zero", "import /dev/zero --model gpt2",
                           "simulate tiny --prices /dev/zero"}) {
    const Ended ended = spillway(line);
    EXPECT_EQ(ended.exit, 2) << line;
    EXPECT_THAT(ended.err, HasSubstr("is a device, not a file")) << line;
  }
  const Ended deep = here("printf '[%.0s' {1..1000} > d.json; spillway report d.json --out x.html");
  EXPECT_EQ(deep.exit, 2) << deep.err;
  EXPECT_THAT(deep.err, HasSubstr("nested deeper than 64 levels"));
  EXPECT_EQ(here("spillway simulate <(cat scenarios/examples/tiny.json)").exit, 0);
  const Ended list = here(R"(echo '[{"id": "a"}]' > o.json; spillway fidelity --open o.json)");
  EXPECT_EQ(list.exit, 2) << list.err;
  EXPECT_THAT(list.err, HasSubstr("simulated: missing; write a number or null"));
}

TEST(WorkerLines, AreAnsweredAllAndAlways) {
  const Workplace place;
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::string good = R"("scenario": {"model": "gpt2", "machine": "gaming_4090",)"
                           R"( "strategy": {"system": "resident"})";
  const std::string lines = "{\"id\": " + deep + "}\n" + "{\"id\": 1, \"scenario\": " + deep +
                            "}\n" + "{\"id\": 2, " + good +
                            ", \"training\": {\"micro_batch\": [\"1\"]}}}\n" + "{\"id\": 3, " +
                            good + "}, \"id\": 4}\n\xff\n{\"id\": 5, \"limit_s\": 1e400}\n" +
                            "{\"id\": 6, \"want\": [\"bound\"], " + good + "}}\n";
  const Ended ended = shell(place, "spillway worker", lines);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 7);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("nested deeper than 64 levels"), HasSubstr("\"id\":6"),
                               HasSubstr("stands twice"), HasSubstr("\"bound\":{")));
}

}  // namespace
}  // namespace spillway::e2e::hostile_test
