#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

/// Questions that take long: they end at their limit or by Ctrl-C with what was found so far.
namespace spillway::e2e::waiting_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string settings =
    "plan settings --model gpt2 --machine gaming_4090 --sequence 256 --system resident,lohan ";

TEST(TimeLimit, EndsAPlanWithWhatWasFoundAndSaysSo) {
  const Ended ended = spillway(settings + "--limit 0.001");
  EXPECT_EQ(ended.exit, 3) << ended.err;  // nothing was found: nobody knows
  EXPECT_THAT(ended.out, HasSubstr("Not known whether gpt2 fits"));
  EXPECT_THAT(ended.out, HasSubstr("The limit of 1.00 ms was reached; "));
  EXPECT_THAT(ended.out, HasSubstr("24 not tried, so there may be an answer. --limit SECONDS"));
  const nlohmann::json none = spillway(settings + "--limit 0.001 --json").json();
  EXPECT_GT(none["counts"]["not_tried"], 0);
  EXPECT_EQ(none["counts"]["simulated"], 0);
  EXPECT_EQ(spillway(settings + "--json").json()["counts"]["not_tried"], 0);
  EXPECT_EQ(spillway(settings + "--limit 0").exit, 2);
}

TEST(TimeLimit, EndsEachKindOfPlan) {
  for (const char* plan :
       {"plan largest --model gpt2,gpt2-xl --machine gaming_4090 --sequence 256",
        "plan drives scenarios/examples/lohan_13b_batch32.json",
        "plan machine --model gpt2 --tokens-per-day 1e6 --budget 4000 --sequence 256"}) {
    const Ended ended = spillway(std::string(plan) + " --limit 0.001");
    EXPECT_EQ(ended.exit, 3) << plan << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("The limit of 1.00 ms was reached")) << plan;
  }
}

TEST(TimeLimit, EndsASimulationWithAnErrorThatSaysWhatToDo) {
  const Ended ended =
      spillway("simulate scenarios/examples/tiny.json --set run.steps=100000 --limit 1");
  EXPECT_EQ(ended.exit, 3);  // nothing is wrong with the scenario
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("The limit of 1.00 s was reached before the scenario was"));
  EXPECT_THAT(ended.err, HasSubstr("run.steps is 100000, and equal steps repeat"));
}

TEST(TimeLimit, OfALongSimulationIsPrecededByHowLongItTakes) {
  LONG_TEST();
  const Ended ended = spillway(
      "simulate scenarios/examples/tiny.json --set training.gradient_accumulation=100000 --limit "
      "8");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("warning: this takes "));  // "at least" on a busy machine
  EXPECT_THAT(ended.err, HasSubstr(" for 3 steps of 100000 micro-batches through 3 blocks, as "));
  EXPECT_THAT(ended.err, HasSubstr("each simulation ends at 8 s, unless --limit says otherwise"));
  EXPECT_THAT(spillway("simulate scenarios/examples/tiny.json --no-remedy").err,
              Not(HasSubstr("this takes")));
}

TEST(Progress, IsAFewLinesWhereNoTerminalIs) {
  LONG_TEST();
  const Ended ended =
      spillway("simulate scenarios/examples/tiny.json --set run.steps=100000 --limit 11");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("simulating, 5 s of 11\nsimulating, 10 s of 11\n"));
}

TEST(TimeLimit, EndsTheSearchForWhatMakesItFit) {
  const Ended ended = spillway("simulate scenarios/examples/qwen7b_one_box.json --no-remedy");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Does not fit"));
  EXPECT_THAT(ended.out, Not(HasSubstr("makes it fit")));
  EXPECT_THAT(ended.out, Not(HasSubstr("It fits with")));
}

TEST(Interrupt, LeavesAPlanWithWhatItHas) {
  LONG_TEST();
  const Workplace place;
  const Ended ended =
      shell(place,
            "spillway plan settings --model llama-3-70b --machine h100_8gpu & sleep 2; "
            "kill -INT $!; wait $!");
  EXPECT_EQ(ended.exit, 130) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Interrupted after "));
  EXPECT_THAT(ended.out, HasSubstr("tried"));
}

// A remedy by smaller batches is simulated with all its micro-batches: that takes a while.
TEST(Interrupt, EndsTheSearchForWhatMakesItFitAfterTheReport) {
  const Workplace place;
  const Ended ended = shell(
      place,
      "spillway simulate scenarios/examples/qwen7b_one_box.json --set training.micro_batch=8192 "
      "--limit 600 >out & until grep -q 'Does not fit' out; do sleep 0.1; done; "
      "kill -INT $!; wait $!");
  EXPECT_EQ(ended.exit, 130) << ended.err;
  std::string text = file_text(place.path() / "out");
  std::replace(text.begin(), text.end(), '\n', ' ');  // lines are broken at spaces, wherever
  EXPECT_THAT(text, HasSubstr("Interrupted after "));
  EXPECT_THAT(text, HasSubstr("before all changes were tried"));
}

}  // namespace
}  // namespace spillway::e2e::waiting_test
