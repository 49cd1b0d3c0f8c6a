#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

/// What could not be simulated is not known: no verb says no, and all leave with 3.
namespace spillway::e2e::unanswered_test {
namespace {

using testing::HasSubstr;
using testing::Not;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// Runs spillway where no process can be had.
Ended alone(const std::string& arguments) {
  const Workplace place;
  return shell(place, "LD_PRELOAD=" SPILLWAY_NO_FORK " spillway " + arguments);
}

class WithoutProcesses : public testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer wants to be loaded first";
  }
};

TEST_F(WithoutProcesses, NoVerbSaysNo) {
  LONG_TEST();
  const struct {
    const char *arguments, *says, *no;
  } verbs[] = {
      {"plan drives scenarios/examples/lohan_13b_batch32.json --most 2", "Not known", "No number"},
      {"plan settings --model gpt2 --machine gaming_4090 --sequence 256 --system resident",
       "Not known whether gpt2 fits", "none of them"},
      {"plan largest --model gpt2 --machine gaming_4090 --sequence 512 --system resident",
       "Not known", "None of"},
      {"fit gpt2 --gpu 4090 --ram 32G --context 256", "not known whether it fits", "does not fit"},
      {"compare scenarios/examples/tiny.json --system resident,zero_offload", "no process for the",
       "a bug"},
  };
  for (const auto& verb : verbs) {
    const Ended ended = alone(verb.arguments);
    EXPECT_EQ(ended.exit, 3) << verb.arguments << "\n" << ended.out << ended.err;
    std::string out = ended.out;
    std::replace(out.begin(), out.end(), '\n', ' ');
    EXPECT_THAT(out, HasSubstr(verb.says)) << verb.arguments;
    EXPECT_THAT(out, Not(HasSubstr(verb.no))) << verb.arguments;
    EXPECT_THAT(ended.err, HasSubstr("not known: no process for the simulation: fork: Resource"))
        << verb.arguments;
  }
}

TEST_F(WithoutProcesses, ASearchThatWouldTakeMinutesGivesUp) {
  LONG_TEST();
  const auto start = std::chrono::steady_clock::now();
  const Ended ended =
      alone("plan machine --model llama-3.1-8b --tokens-per-day 60e6 --budget 8000 --limit 300");
  EXPECT_EQ(ended.exit, 3) << ended.out << ended.err;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_THAT(ended.err, HasSubstr("not known: no process for the simulation: fork: Resource"));
  EXPECT_THAT(ended.out, testing::StartsWith("Not known: "));
  EXPECT_THAT(ended.out, Not(HasSubstr("No box")));
}

TEST_F(WithoutProcesses, SimulateAndExploreSayWhy) {
  const Ended simulated = alone("simulate scenarios/examples/qwen7b_one_box.json");
  EXPECT_EQ(simulated.exit, 3);
  EXPECT_THAT(simulated.err, HasSubstr("fork: Resource temporarily unavailable"));
  const Ended traced = alone("simulate scenarios/examples/qwen7b_one_box.json --trace t.json");
  EXPECT_EQ(traced.exit, 3);
  EXPECT_THAT(traced.out, HasSubstr("Not known whether a change of the settings makes it fit"));
  const Ended explored =
      alone("explore scenarios/spaces/ssds_until_gpu_limit.json --db a.db --jobs 2");
  EXPECT_EQ(explored.exit, 3);
  EXPECT_THAT(explored.err, HasSubstr("fork: "));
}

TEST(OutOfTime, IsStoredAsThatAndTriedAgain) {
  LONG_TEST();
  const Workplace place;
  place.write("space.json", R"({"name": "two", "base": {"model": "gpt2", "machine": "gaming_4090",
    "training": {"sequence": 256, "gradient_accumulation": 50},
    "strategy": {"system": "resident"}},
    "axes": {"strategy.system": ["zero_infinity", "lohan"]},
    "objectives": {"step_time_s": "min"}})");
  const std::string line = "spillway explore space.json --db two.db --simulate-all --json";
  const Ended late = shell(place, line + " --limit 0.0001");
  EXPECT_EQ(late.exit, 3);
  EXPECT_EQ(late.json().at("failed"), 2);
  EXPECT_EQ(late.json().at("finished"), false);
  EXPECT_THAT(late.err, HasSubstr("not known: the simulation exceeded its time limit, 2 times"));
  const Ended again = shell(place, line);
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_EQ(again.json().at("simulated"), 2);
  EXPECT_EQ(again.json().at("front").size(), 1u);
  EXPECT_EQ(again.json().at("finished"), true);
}

}  // namespace
}  // namespace spillway::e2e::unanswered_test
