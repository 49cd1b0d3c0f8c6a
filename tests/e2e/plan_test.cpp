#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

namespace spillway::e2e {
namespace {

/// What was printed, without line ends.
std::string text_of(const Ended& ended) {
  std::string text = ended.out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(PlanDrives, NamesTheFewestThatAreEnough) {
  LONG_TEST();
  const std::string command = "plan drives scenarios/examples/lohan_13b_batch32.json --most 12";
  const nlohmann::json answer = spillway(command + " --json").json();
  const std::size_t drives = answer["drives"];
  const nlohmann::json& trials = answer["trials"];
  ASSERT_EQ(trials.size(), 12u);
  const auto rate = [&](std::size_t count) {
    const nlohmann::json& result = trials[count - 1]["result"];
    return result.is_null() ? 0 : result["throughput"]["tokens_per_s"].get<double>();
  };
  double best = 0;
  for (std::size_t count = 1; count <= 12; ++count) best = std::max(best, rate(count));
  ASSERT_GT(drives, 1u);
  EXPECT_GE(rate(drives), 0.98 * best);
  for (std::size_t fewer = 1; fewer < drives; ++fewer) EXPECT_LT(rate(fewer), 0.98 * best);
  EXPECT_FALSE(trials[drives - 2]["result"].is_null()) << "one fewer is simulated";
  for (std::size_t plugged = 0; plugged < 4; ++plugged)
    EXPECT_FALSE(trials[plugged]["result"].is_null()) << "what people can plug in has numbers";
  EXPECT_EQ(answer["counts"]["ruled_out"].get<int>() + answer["counts"]["simulated"].get<int>(),
            12);
  EXPECT_NE(text_of(spillway(command)).find("With one fewer: -"), std::string::npos);
}

/// Lines that begin with a number of drives.
std::size_t drive_rows(const std::string& text) {
  std::size_t rows = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    rows += line.find(" of nvme ") != std::string::npos && line.find("tried") == std::string::npos;
  return rows;
}

TEST(PlanDrives, FoldsNumbersThatReadTheSame) {
  LONG_TEST();
  // the tokens of a step wait for one drive of 100 GB/s no more than for two of them
  const std::string fast =
      "plan drives scenarios/examples/lohan_13b_batch32.json --most 6 --set "
      "'machine.storage.nvme.read=100 GB/s' --set 'machine.storage.nvme.write=100 GB/s'";
  const Ended ended = spillway(fast);
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_LT(drive_rows(ended.out), 6u) << ended.out;
  EXPECT_EQ(spillway(fast + " --json").json()["trials"].size(), 6u);
}

TEST(PlanDrives, SaysOnceWhatTheBoardHasNoRoomFor) {
  const Ended ended = spillway("plan drives qwen7b_workstation");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::HasSubstr("5 to 16 drives of nvme"));
  EXPECT_THAT(ended.out, testing::HasSubstr("the board has 4 M.2"));
  EXPECT_EQ(ended.out.find("6 are asked for"), std::string::npos);
}

TEST(PlanDrives, SaysHowNearDrivesComeThatDoNotLast) {
  const std::string text = text_of(
      spillway("plan drives scenarios/examples/lohan_13b_batch32.json --most 6 --lifetime 1000"));
  EXPECT_NE(
      text.find("None of the numbers of drives that were tried does it. 6 drives of nvme last "
                "longest: "),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("More of them were not tried and may last long enough: --most."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("over 1,000 years that are asked for"), std::string::npos) << text;
  EXPECT_NE(text.find("They would last as long if they trained "), std::string::npos) << text;
}

TEST(PlanDrives, SaysThatMoreMayHelpAtTheEndOfWhatWasTried) {
  const Ended ended = spillway("plan drives scenarios/examples/lohan_13b_batch32.json --most 2");
  EXPECT_NE(text_of(ended).find("2 drives are the most that were tried"), std::string::npos);
}

TEST(PlanDrives, ComparesKindsOfDrives) {
  LONG_TEST();
  const std::string command =
      "plan drives scenarios/examples/lohan_13b_batch32.json --most 6 --parts one_box";
  const nlohmann::json answer = spillway(command + " --json").json();
  ASSERT_EQ(answer["classes"].size(), 4u) << "its own and three of the list";
  double least = 1e9;
  std::string cheapest;
  for (const nlohmann::json& one : answer["classes"]) {
    if (one["drives"].is_null()) continue;
    const double cost = one["price_usd"].get<double>() * one["drives"].get<double>();
    if (cost < least) least = cost, cheapest = one["name"];
  }
  EXPECT_EQ(answer["class"], cheapest);
  const nlohmann::json own =
      spillway(
          "plan drives scenarios/examples/lohan_13b_batch32.json --most 6 --lifetime 1000 --json")
          .json();
  EXPECT_TRUE(own["drives"].is_null()) << "nothing lasts a thousand years";
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

TEST(PlanSettings, SaysWhatMoreSamplesAStepBringWhereNobodySaysHowMany) {
  const std::string ask =
      "plan settings --model llama-3.1-8b --machine gaming_4090 --system zero_infinity";
  const std::string one = spillway(ask).out;
  EXPECT_NE(one.find("16 micro-batches before each update"), std::string::npos) << one;
  const std::string two = spillway(ask + " --accumulation 2").out;
  EXPECT_EQ(two.find("before each update"), std::string::npos) << two;
}

TEST(PlanSettings, LeavesOutWhatItsBoundSaysIsSlower) {
  LONG_TEST();
  const Workplace place;
  const std::string command =
      "plan settings --model gpt2-xl --machine gaming_4090 --sequence 512 --system "
      "zero_offload,zero_infinity --json";
  const nlohmann::json answer = spillway(command).json();
  EXPECT_GT(answer["counts"]["ruled_out"], 0);
  for (const nlohmann::json& trial : answer["trials"])
    EXPECT_EQ(trial["ruled_out"].get<bool>(), trial["result"].is_null()) << trial["words"];
  // what was left out is indeed slower
  const double best = answer["best"]["result"]["throughput"]["tokens_per_s"];
  const Ended slow = shell(place,
                           "spillway plan settings --model gpt2-xl --machine gaming_4090 "
                           "--sequence 512 --system zero_infinity --json");
  EXPECT_LE(slow.json()["best"]["result"]["throughput"]["tokens_per_s"], best);
}

TEST(PlanSettings, WritesAConfigurationWhereDeepSpeedCanRunIt) {
  LONG_TEST();
  const Workplace place;
  const std::string command =
      "spillway plan settings --model gpt2,gpt2-xl --machine gaming_4090 --sequence 512 --system ";
  Ended ended = shell(place, command + "lohan,zero_offload --out best.json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(place.files(),
            (std::vector<std::string>{"best_gpt2-xl.ds_config.json", "best_gpt2-xl.json",
                                      "best_gpt2.ds_config.json", "best_gpt2.json"}));
  const Ended exported = shell(place,
                               "spillway import best_gpt2.ds_config.json --model gpt2 "
                               "--machine gaming_4090 --sequence 512");
  EXPECT_EQ(exported.json()["strategy"]["system"], "zero_offload") << exported.err;
  ended = shell(place, command + "lohan");
  EXPECT_NE(text_of(ended).find("DeepSpeed can run nothing that fits: strategy."),
            std::string::npos)
      << ended.out;
}

/// Samples of a step.
int samples(const nlohmann::json& scenario) {
  return scenario["training"]["micro_batch"].get<int>() *
         scenario["training"]["gradient_accumulation"].get<int>() *
         scenario["parallel"]["data"].get<int>();
}

TEST(PlanSettings, UsesAllCardsAndKeepsTheSamplesOfAStep) {
  const std::string command =
      "plan settings --model gpt2 --machine workstation_2gpu --sequence 256 --system resident "
      "--json --global-batch ";
  const nlohmann::json answer = spillway(command + "8").json();
  std::set<std::string> words;
  for (const nlohmann::json& trial : answer["trials"]) {
    words.insert(trial["words"]);
    if (trial["result"].is_null()) continue;
    const nlohmann::json& scenario = trial["result"]["scenario"];
    EXPECT_EQ(samples(scenario), 8);
    const nlohmann::json& parallel = scenario["parallel"];
    EXPECT_EQ(parallel["data"].get<int>() * parallel["tensor"].get<int>() *
                  parallel["pipeline"].get<int>(),
              2);
  }
  // two batches of 1, 2 or 4; one batch of 1, 2, 4 or 8 on both cards; with recomputation too, and
  // but for pipelines with activations in host memory
  EXPECT_EQ(words.size(), 2 * (3u + 4u + 4u) + 3 + 4);
  EXPECT_TRUE(words.contains("resident, micro-batch 2 x 2"));
  EXPECT_TRUE(words.contains("resident, tensor 2, micro-batch 8"));
  EXPECT_TRUE(words.contains("resident, pipeline 2, micro-batch 1 x 8"));
  const nlohmann::json one = spillway(command + "8 --set parallel.data=1").json();
  for (const nlohmann::json& trial : one["trials"])
    if (!trial["result"].is_null()) {
      EXPECT_EQ(samples(trial["result"]["scenario"]), 8);
      EXPECT_EQ(trial["result"]["scenario"]["parallel"]["data"], 1);
    }
  EXPECT_EQ(spillway(command + "7 --set parallel.data=2").exit, 2) << "7 samples on two cards";
}

TEST(PlanSettings, TriesThePartsOfOtherScenarios) {
  const std::string command =
      "plan settings --model gpt2 --machine gaming_4090 --sequence 256 --micro-batch 4 --json "
      "--system lohan --mix ";
  const nlohmann::json answer = spillway(command + "mix_8b_workstation").json();
  ASSERT_EQ(answer["trials"].size(), 2u);
  EXPECT_EQ(answer["trials"][1]["words"],
            "lohan + optimizer.home host + pinned exact + weights.home host, micro-batch 4");
  const nlohmann::json& mix = answer["trials"][1]["result"]["scenario"]["strategy"];
  EXPECT_EQ(mix["weights"]["home"], "host");
  EXPECT_EQ(mix["pinned"], "exact");
  EXPECT_EQ(spillway(command + "none").json()["trials"].size(), 1u);
  EXPECT_EQ(spillway(command + "no_such_mix").exit, 2);
}

TEST(PlanMachine, WritesABoxOnWhichTheAnswerHolds) {
  LONG_TEST();
  const Workplace place;
  const Ended ended =
      shell(place,
            "spillway plan machine --model gpt2-xl --tokens-per-day 300e6 --budget 4500 --sequence "
            "1024 --system zero_offload,lohan --micro-batch 8,16 --out s.json --machine-out m.json "
            "--json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const nlohmann::json found = ended.json(), answer = found["answer"];
  EXPECT_TRUE(found["whole"]);
  EXPECT_EQ(found["cheaper"], found["ruled_out"].get<int>() + found["missed"].get<int>());
  EXPECT_LE(answer["price_usd"], 4500);
  const double rate = answer["trial"]["result"]["throughput"]["tokens_per_s"];
  EXPECT_GE(rate * 86400, 300e6);
  EXPECT_GE(found["neighbours"].size(), 2u);
  for (const nlohmann::json& other : found["neighbours"])
    EXPECT_FALSE(other["meets"].get<bool>() && other["price_usd"] < answer["price_usd"]);
  const Ended again = shell(place, "spillway simulate s.json --json");
  EXPECT_EQ(again.json()["throughput"]["tokens_per_s"], rate);
  EXPECT_EQ(shell(place, "spillway machine m.json --json").exit, 0);
  const Ended moved = shell(place, "spillway simulate s.json --set machine=m.json --json");
  EXPECT_EQ(moved.json()["throughput"]["tokens_per_s"], rate);
  EXPECT_EQ(moved.json()["price_usd"], answer["price_usd"]);
}

// With states on drives one micro-batch a step is mostly update: a box for it is money wasted.
TEST(PlanMachine, NamesACheaperBoxThatDoesItWithMoreSamplesAStep) {
  LONG_TEST();
  const std::string ask =
      "plan machine --model llama-3.2-1b --tokens-per-day 300e6 --budget 6000 --runnable "
      "--system zero_offload";
  const nlohmann::json one = spillway(ask + " --json").json();
  ASSERT_FALSE(one.at("more_samples").is_null());
  const double price = one.at("more_samples").at("price_usd");
  if (!one.at("answer").is_null()) {
    EXPECT_LT(price, one.at("answer").at("price_usd").get<double>());
  }
  EXPECT_EQ(one.at("accumulation"), 16);
  const nlohmann::json asked = spillway(ask + " --accumulation 16 --json").json();
  EXPECT_EQ(asked.at("answer").at("price_usd").get<double>(), price);
  EXPECT_TRUE(asked.at("more_samples").is_null());
}

TEST(PlanMachine, NamesNoBoxAsCheaperThatCostsAsMuch) {
  LONG_TEST();
  const std::string ask =
      "plan machine --model llama-3.2-3b --tokens-per-day 60e6 --budget 6000 --json --system ";
  const nlohmann::json cheaper = spillway(ask + "zero_offload").json();
  EXPECT_LT(cheaper.at("more_samples").at("price_usd").get<double>(),
            cheaper.at("answer").at("price_usd").get<double>());
  const nlohmann::json as_much = spillway(ask + "slideformer").json();
  EXPECT_FALSE(as_much.at("answer").is_null());
  EXPECT_TRUE(as_much.at("more_samples").is_null());
}

TEST(PlanMachine, SaysHowNearItCameAndWhatWouldDo) {
  LONG_TEST();
  const std::string command =
      "plan machine --model gpt2-xl --tokens-per-day 300e6 --sequence 1024 --system "
      "zero_offload --micro-batch 16 --budget ";
  const nlohmann::json rich = spillway(command + "6000 --json").json();
  ASSERT_FALSE(rich["answer"].is_null());
  EXPECT_TRUE(rich["nearest"].is_null());
  // a dollar less than the cheapest that does
  const int less = static_cast<int>(rich["answer"]["price_usd"].get<double>()) - 1;
  const nlohmann::json poor = spillway(command + std::to_string(less) + " --json").json();
  ASSERT_TRUE(poor["answer"].is_null());
  ASSERT_FALSE(poor["nearest"].is_null());
  EXPECT_LE(poor["nearest"]["price_usd"], less);
  const auto rate = [](const nlohmann::json& offer) {
    return offer["trial"]["result"]["throughput"]["tokens_per_s"].get<double>() * 86400;
  };
  EXPECT_LT(rate(poor["nearest"]), 300e6);
  EXPECT_GE(poor["dearer"]["price_usd"], rich["answer"]["price_usd"]);
  EXPECT_GE(rate(poor["dearer"]), 300e6);
  const std::string text = text_of(spillway(command + std::to_string(less)));
  EXPECT_NE(text.find("Nearest: "), std::string::npos) << text;
  EXPECT_NE(text.find("What would do: $"), std::string::npos) << text;
}

TEST(PlanMachine, SaysWhyThereIsNone) {
  LONG_TEST();
  const std::string command = "plan machine --model gpt2 --system resident --sequence 256 ";
  EXPECT_THAT(text_of(spillway(command + "--micro-batch 8 --tokens-per-day 1e15 --budget 3000")),
              testing::HasSubstr("bounds rule out"));
  const nlohmann::json rich = spillway(command + "--tokens-per-day 1 --budget 2000 --json").json();
  const std::string poor = text_of(spillway(command + "--tokens-per-day 1 --budget 10"));
  ASSERT_FALSE(rich["answer"].is_null());
  const long cheapest = std::lround(rich["answer"]["price_usd"].get<double>());
  EXPECT_THAT(poor, testing::HasSubstr(fmt::format("The cheapest box of one_box costs ${},{:03}.",
                                                   cheapest / 1000, cheapest % 1000)));
  EXPECT_EQ(spillway(command + "--tokens-per-day 1 --budget 10 --parts none").exit, 2);
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

// What the model does not allow is known beforehand: it is no row for each length that was not
// tried.
// A model of 1,024 positions is no reason to refuse a question that names no length.
TEST(PlanVerbs, TakeSamplesThatTheModelTakesWhereNobodySaysHowLong) {
  const Ended ended = spillway(
      "plan settings --model gpt2 --machine gaming_4090 --system resident --micro-batch 4");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_NE(ended.out.find("4,096 tokens a step"), std::string::npos) << ended.out;
}

TEST(PlanLargest, HasOneLineForContextsThatTheModelDoesNotAllow) {
  // settings that are named are not changed where nothing has room
  const Ended ended = spillway(
      "plan largest --model gpt2 --machine gaming_4090 --sequence 512 --system resident "
      "--set training.loss=plain --set strategy.activations.policy=keep");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  std::size_t rows = 0;
  std::istringstream in(ended.out);
  for (std::string line; std::getline(in, line);) rows += line.starts_with("context ");
  EXPECT_LE(rows, 3u) << ended.out;  // 512, 1024, and the first that is too long
  // of the batches, too, one that does not fit stands in the table, the last
  std::size_t misses = 0;
  std::istringstream again(ended.out);
  for (std::string line; std::getline(again, line);)
    misses += line.starts_with("micro-batch ") && line.find(" needs ") != std::string::npos;
  EXPECT_EQ(misses, 1u) << ended.out;
  EXPECT_NE(text_of(ended).find("Longest context at micro-batch 1: context 1024; context 1152 does "
                                "not: "),
            std::string::npos)
      << ended.out;
}

TEST(PlanLargest, OfSystemsThatDoNotFitNamesTheOneThatLacksLeast) {
  const Ended ended = spillway(
      "plan largest --model llama-3.1-8b --machine gaming_4090 --sequence 512 --system "
      "resident,zero_offload");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_NE(ended.out.find("llama-3.1-8b with zero_offload"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("with resident"), std::string::npos) << ended.out;
}

TEST(PlanLargest, TakesAFamilyInTheOrderOfItsSizes) {
  const nlohmann::json answer =
      spillway(
          "plan largest --model qwen2.5 --machine gaming_4090 --sequence 512 --system "
          "memascend --json")
          .json();
  ASSERT_EQ(answer["models"].size(), 7u);
  for (const auto& [i, size] : {std::pair{0, "0.5b"}, std::pair{3, "7b"}, std::pair{6, "72b"}})
    EXPECT_EQ(answer["models"][i]["words"], std::string("qwen2.5-") + size + " with memascend");
}

TEST(PlanVerbs, RefuseWhatTheyCannotRead) {
  EXPECT_EQ(spillway("plan").exit, 2);
  EXPECT_EQ(spillway("plan settings --model gpt3 --machine gaming_4090").exit, 2);
  EXPECT_EQ(spillway("plan largest --model nothing --machine gaming_4090").exit, 2);
  EXPECT_EQ(spillway("plan drives none.json").exit, 2);
}

}  // namespace
}  // namespace spillway::e2e
