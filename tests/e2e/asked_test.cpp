#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

/// Asked without a file: fit, new, describe, and names in place of paths.
namespace spillway::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* small_box = "fit llama-3.2-1b --gpu 4090 --ram 64G --ssd 2T";

TEST(Fit, SaysWhetherItFitsWithWhatItRunsAndForHowLongTheDrivesAreUnderWarranty) {
  const Ended ended = spillway(std::string(small_box) + " --tokens 1B");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(": fits"));
  for (const char* line : {"runs with", "tokens/s", "host peak", "price of the box", "time"})
    EXPECT_NE(line_of(ended.out, line), "") << line << "\n" << ended.out;
}

TEST(Fit, SaysWhatTheDriveCostsThatABoxWithoutOneNeeds) {
  LONG_TEST();
  const std::string out = spillway("fit llama-3.1-8b --gpu 4090 --ram 64G").out;
  EXPECT_THAT(out, HasSubstr("What makes it fit: a 990 PRO 2TB"));
  EXPECT_THAT(out, HasSubstr("for $440 more")) << out;
}

TEST(Fit, NamesWhatCostsNothingBeforeWhatOneWouldBuy) {
  LONG_TEST();
  std::string out = spillway("fit llama-3.1-8b --gpu 4090 --ram 64G --ssd 2T").out;
  std::replace(out.begin(), out.end(), '\n', ' ');  // sentences, wherever their lines end
  const auto place_of = [&out](const char* words) { return out.find(words); };
  EXPECT_NE(place_of("What helps most costs nothing: training.loss fused and "
                     "training.fused_kernels true, such as Liger Kernel's"),
            std::string::npos)
      << out;
  EXPECT_NE(place_of("What costs nothing: zero_infinity and 16 micro-batches"), std::string::npos);
  EXPECT_LT(place_of("What costs nothing"), place_of("What helps most for money: 192 GiB"));
  // a sentence names the system that it speaks of
  EXPECT_THAT(out,
              HasSubstr("192 GiB of host memory and zero_offload + gradients.accumulation fp16"));
  EXPECT_THAT(out, HasSubstr("; with 16 micro-batches a step"));
}

TEST(Fit, AnswersAsJsonWithTheNamesOfItsSchema) {
  const json answer = spillway(std::string(small_box) + " --runnable --json").json();
  EXPECT_EQ(answer.at("schema"), "spillway/answer/fit/1");
  EXPECT_EQ(answer.at("fits"), true);
  EXPECT_EQ(answer.at("best"), nullptr);
  EXPECT_EQ(answer.at("runnable").at("runs_with").at("runnable"), true);
  EXPECT_GT(answer.at("needed_bytes").at("host"), 0);
}

TEST(Fit, WritesAScenarioThatSimulatesToTheSameSpeed) {
  const Workplace place;
  const Ended ended = shell(place, std::string("spillway ") + small_box + " --out it.json --json");
  const json simulated = json::parse(shell(place, "spillway simulate it.json --json").out);
  EXPECT_EQ(simulated.at("throughput").at("tokens_per_s"),
            ended.json().at("runnable").at("throughput").at("tokens_per_s"));
}

TEST(Fit, RefusesWordsThatMeanNothing) {
  const Ended ended = spillway("fit llama-3.2-1b --gpu 4091 --ram 64 --tokens lots");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("no \"4091\"; did you mean \"4090\"?"));
  EXPECT_THAT(ended.err, HasSubstr("\"64\" has no unit; write 64G"));
  EXPECT_EQ(spillway("fit no-such-model --gpu 4090 --ram 64G").exit, 2);
  EXPECT_EQ(spillway("fit gpt2").exit, 2);
  EXPECT_THAT(spillway("fit gpt2 --gpu 4090 --ram 64G --tokens lots").err,
              HasSubstr("\"lots\" is no number"));
}

TEST(Fit, TakesPartsByNameAndTellsWhatTheBoardHasPlacesFor) {
  const Ended ended =
      spillway("fit gpt2 --gpu 5090 --ram 96G --ssd '990 PRO 4TBx2' --board 'desktop with PCIe 5'");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("RTX 5090, desktop with PCIe 5, 96 GiB, 2 x 990 PRO 4TB"));
  EXPECT_THAT(ended.out, HasSubstr("4 M.2 drives"));
  const Ended full = spillway("fit gpt2 --gpu 4090 --ram 64G --ssd 2Tx5 --board desktop");
  EXPECT_EQ(full.exit, 2);
  EXPECT_THAT(full.err, HasSubstr("takes 4 M.2 drives, not 5"));
}

TEST(Fit, SaysWhatIsNeededAndWhatMakesItFit) {
  const Ended ended = spillway("fit llama-3.1-8b --gpu 4090 --ram 64G");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("does not fit"));
  EXPECT_THAT(ended.out, HasSubstr("of 64.0 GiB *"));
  EXPECT_THAT(ended.out, HasSubstr("What makes it fit: a 990 PRO 2TB"));
}

TEST(Fit, EndsTheNotesOfAModelWithOneFullStop) {
  const Ended ended = spillway("fit Qwen/Qwen3-0.6B-FP8 --gpu 4090 --ram 64G --ssd 2T");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("This is a release in fp8; weights are counted as trained"));
  EXPECT_THAT(ended.out, testing::Not(HasSubstr("..\n"))) << ended.out;
}

TEST(Fit, ShowsWhatRentCostsInPlaceOfTheBox) {
  const Ended ended =
      spillway(std::string(small_box) + " --tokens 1B --price gpu_hour=0.5,4090=2000 --runnable");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_NE(line_of(ended.out, "rented in its place"), "") << ended.out;
  EXPECT_NE(line_of(ended.out, "bought, with energy and drives"), "");
  EXPECT_NE(line_of(ended.out, "energy"), "");
  EXPECT_THAT(ended.out, testing::Not(HasSubstr("More than a year old")));  // that was the card's
}

TEST(New, WritesAScenarioThatSimulatesAsItStands) {
  const Workplace place;
  EXPECT_EQ(shell(place, "spillway new --model gpt2 --system zero_offload -o my.json").exit, 0);
  EXPECT_THAT(shell(place, "spillway simulate my.json").out, HasSubstr("\nFits: "));
  // never over a file of the user's
  EXPECT_EQ(shell(place, "spillway new -o my.json").exit, 2);
  EXPECT_EQ(spillway("new --machine no_such_box").exit, 2);
}

TEST(Describe, SaysWhatAKnobMeansAndSuggestsTheNearest) {
  const Ended one = spillway("describe training.micro_batch");
  EXPECT_THAT(one.out, HasSubstr("train_micro_batch_size_per_gpu"));
  EXPECT_THAT(one.out, HasSubstr("default: 1"));
  EXPECT_THAT(spillway("describe strategy.optimizer").out, HasSubstr("strategy.optimizer.home"));
  const Ended wrong = spillway("describe training.micro_bacth");
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean \"training.micro_batch\"?"));
  EXPECT_GT(spillway("describe --json").json().size(), 200u);
}

TEST(Describe, KnowsTheNamesOfDeepSpeed) {
  EXPECT_THAT(spillway("describe stage3_prefetch_bucket_size").out,
              HasSubstr("strategy.weights.prefetch_bucket"));
  EXPECT_THAT(spillway("describe zero_optimization.stage").out, HasSubstr("parallel.zero_stage"));
  EXPECT_THAT(spillway("describe nvme_path").err, HasSubstr("spillway export --nvme-path"));
}

TEST(Describe, SuggestsWhatStandsAboveKeysTooAndSaysWhatIsRefused) {
  EXPECT_THAT(spillway("describe strategy.weigts").err,
              HasSubstr("did you mean \"strategy.weights\"?"));
  EXPECT_THAT(spillway("describe training.micro_batch").out,
              HasSubstr("a whole number from 1 to 100000\n"));
  EXPECT_EQ(spillway("simulate tiny --set training.micro_batch=100001").exit, 2);
}

TEST(Describe, IsALineAKeyInAPipe) {
  const std::string all = spillway("describe").out;
  const auto keys = spillway("describe --json").json().size();
  // a title and a rule above them
  EXPECT_EQ(static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n')), keys + 2);
}

// From a folder that has none of them.
TEST(Names, OfShippedExamplesAndSpacesStandForTheirPaths) {
  LONG_TEST();
  const Workplace place;
  const auto run = [&](const std::string& command) {
    return shell(place, "mkdir -p away && cd away && spillway " + command);
  };
  EXPECT_THAT(run("simulate gpt2_resident").out, HasSubstr("\nFits: "));
  EXPECT_THAT(run("simulate scenarios/examples/gpt2_resident.json").out, HasSubstr("\nFits: "));
  EXPECT_THAT(run("compare gpt2_resident tiny").out, HasSubstr("gpt2_resident"));
  EXPECT_EQ(run("export qwen7b_memascend_c1 --nearest --nvme-path /nvme").exit, 0);
  EXPECT_EQ(run("explore ssds_until_gpu_limit --count").exit, 0);
  const Ended wrong = run("simulate gpt2_residnet");
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean \"gpt2_resident\"?"));
}

TEST(Names, WorkInExtendsAndAsTheBaseOfASpace) {
  const Workplace place;
  place.write("mine.json", R"({"extends": "gpt2_resident", "training": {"micro_batch": 1}})");
  EXPECT_THAT(shell(place, "spillway simulate mine.json").out, HasSubstr("\nFits: "));
  place.write("space.json", R"({"base": "gpt2_resident", "axes": {"training.micro_batch": [1, 2]},
                                "objectives": {"step_time_s": "min"}})");
  EXPECT_EQ(shell(place, "spillway explore space.json --count").exit, 0);
}

TEST(Runnable, LeavesOutWhatNoMaintainedProgramTrains) {
  const Ended ended = spillway(
      "plan settings --model gpt2 --machine gaming_4090 --sequence 1024 --runnable --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  for (const json& trial : ended.json().at("trials")) {
    if (!trial.at("result").is_object()) continue;
    EXPECT_EQ(trial["result"]["runs_with"]["runnable"], true) << trial.at("words");
  }
}

TEST(Systems, SayWhatRunsThem) {
  EXPECT_THAT(spillway("systems").out, HasSubstr("runs with"));
  for (const json& one : spillway("systems --json").json())
    EXPECT_FALSE(one.at("runs_with").at("program").get<std::string>().empty());
}

TEST(FinishedRun, SaysDaysForTokensAndForEpochs) {
  const json one = spillway("simulate gpt2_resident --tokens 1B --json").json();
  const json two =
      spillway("simulate gpt2_resident --dataset-tokens 250M --epochs 4 --json").json();
  EXPECT_EQ(one.at("run").at("tokens"), 1e9);
  EXPECT_EQ(one.at("run").at("days"), two.at("run").at("days"));
  const double days = 1e9 / one.at("throughput").at("tokens_per_s").get<double>() / 86400;
  EXPECT_NEAR(one.at("run").at("days").get<double>(), days, 0.05 * days);  // checkpoints added
  EXPECT_FALSE(spillway("simulate gpt2_resident --json").json().contains("run"));
  for (const char* verb : {"simulate gpt2_resident", "fit gpt2 --gpu 4090 --ram 64G"}) {
    const Ended twice = spillway(std::string(verb) + " --tokens 1B --set run.tokens=5e6");
    EXPECT_EQ(twice.exit, 2) << verb;
    EXPECT_THAT(twice.err, HasSubstr("say how long the run is in one way"));
  }
}

// Plans say days and dollars of the answer, and how far they may be off.
TEST(FinishedRun, StandsBelowTheAnswerOfEachPlanWithItsRange) {
  const std::string job = " --system zero_offload --sequence 1024 --tokens 100M --range";
  for (const char* plan :
       {"plan settings --model gpt2 --machine gaming_4090 --micro-batch 4,8",
        "plan largest --model gpt2 --machine gaming_4090",
        "plan machine --model gpt2 --tokens-per-day 20e6 --budget 4000 --micro-batch 8"}) {
    const Ended ended = spillway(plan + job);
    EXPECT_EQ(ended.exit, 0) << ended.err;
    EXPECT_NE(line_of(ended.out, "price of the energy"), "") << plan << ended.out;
    EXPECT_THAT(ended.out, HasSubstr("Ranges hold nine of ten")) << plan;
    EXPECT_THAT(ended.out, HasSubstr("More than a year old")) << plan;  // the card's launch price
  }
}

TEST(FinishedRun, SaysWhereNoPowerIsStated) {
  const Ended ended = spillway("simulate lohan_13b_batch32 --tokens 1B");
  EXPECT_THAT(line_of(ended.out, "energy"), HasSubstr("no power stated"));
}

TEST(Range, HoldsTheHeadlineAndStandsBesideIt) {
  const json result = spillway("simulate gpt2_resident --range --json").json();
  const json range = result.at("range").at("throughput.tokens_per_s");
  const double now = result.at("throughput").at("tokens_per_s");
  EXPECT_LE(range[0], now);
  EXPECT_GE(range[1], now);
  EXPECT_LT(range[0], range[1]);
  EXPECT_THAT(spillway("simulate gpt2_resident --range").out, HasSubstr("Ranges hold nine of ten"));
}

}  // namespace
}  // namespace spillway::e2e
