#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/command.hpp"

namespace spillway::e2e {
namespace {

/// What was printed, without line ends.
std::string text_of(const Ended& ended) {
  std::string text = ended.out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(PlanDrives, NamesTheFewestThatAreEnough) {
  const std::string command = "plan drives scenarios/examples/lohan_13b_batch32.json --most 12";
  const nlohmann::json answer = spillway(command + " --json").json();
  const std::size_t drives = answer["drives"];
  const nlohmann::json& trials = answer["trials"];
  ASSERT_EQ(trials.size(), 12u);
  const auto rate = [&](std::size_t count) {
    return trials[count - 1]["result"]["throughput"]["tokens_per_s"].get<double>();
  };
  double best = 0;
  for (std::size_t count = 1; count <= 12; ++count) best = std::max(best, rate(count));
  ASSERT_GT(drives, 1u);
  EXPECT_GE(rate(drives), 0.98 * best);
  for (std::size_t fewer = 1; fewer < drives; ++fewer) EXPECT_LT(rate(fewer), 0.98 * best);
  EXPECT_NE(text_of(spillway(command)).find("With one fewer: -"), std::string::npos);
}

TEST(PlanDrives, SaysThatMoreMayHelpAtTheEndOfWhatWasTried) {
  const Ended ended = spillway("plan drives scenarios/examples/lohan_13b_batch32.json --most 2");
  EXPECT_NE(text_of(ended).find("2 drives are the most that were tried"), std::string::npos);
}

TEST(PlanSettings, WritesTheScenarioOfTheFastest) {
  const Workplace place;
  const Ended ended = shell(place,
                            "spillway plan settings --model gpt2 --machine gaming_4090 --sequence "
                            "1024 --system resident,zero_offload --out best.json --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const nlohmann::json best = ended.json()["best"];
  for (const nlohmann::json& trial : ended.json()["trials"])
    if (!trial["result"].is_null() && trial["reason"] == "") {
      EXPECT_LE(trial["result"]["throughput"]["tokens_per_s"],
                best["result"]["throughput"]["tokens_per_s"]);
    }
  const Ended again = shell(place, "spillway simulate best.json --json");
  EXPECT_EQ(again.json()["step_time_s"], best["result"]["step_time_s"]);
}

TEST(PlanLargest, NamesWhatStopsTheNextOne) {
  const Ended ended = spillway(
      "plan largest --model gpt2-xl,llama-3.1-8b,opt-175b --machine gaming_4090 --sequence 512 "
      "--system zero_infinity");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const std::string text = text_of(ended);
  EXPECT_NE(text.find("Largest model: llama-3.1-8b with zero_infinity; opt-175b with zero_infinity "
                      "does not: "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Longest context at micro-batch 1: context "), std::string::npos) << text;
  EXPECT_NE(text.find("assumed"), std::string::npos);
}

TEST(PlanVerbs, RefuseWhatTheyCannotRead) {
  EXPECT_EQ(spillway("plan").exit, 2);
  EXPECT_EQ(spillway("plan settings --model gpt3 --machine gaming_4090").exit, 2);
  EXPECT_EQ(spillway("plan largest --model nothing --machine gaming_4090").exit, 2);
  EXPECT_EQ(spillway("plan drives none.json").exit, 2);
}

}  // namespace
}  // namespace spillway::e2e
