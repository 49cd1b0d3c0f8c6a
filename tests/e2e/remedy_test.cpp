#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <sstream>

namespace spillway::e2e {
namespace {

using testing::HasSubstr;

/// A scenario that does not fit: the words for what is missing, and for the change that helps.
struct TooLarge {
  std::string name;
  std::string arguments;
  std::string misses;
  std::string helps;
};

std::ostream& operator<<(std::ostream& out, const TooLarge& large) { return out << large.name; }

/// A box with the keys that differ from the shipped one.
const std::string resident =
    R"({"model": "llama-3.2-1b", "machine": "gaming_4090", "strategy": {"system": "resident"},
        "training": {"micro_batch": 8, "sequence": 4096, "precision": "bf16_mixed"}})";

const std::vector<TooLarge> larges = {
    // 13.8 GiB of states and 4.6 GiB of weights and gradients leave little for activations
    {"activations_of_a_large_batch", "large.json", "activations of rank 0 in forward",
     "training.micro_batch 1 with training.gradient_accumulation 8"},
    // one sample: no smaller batch; the system that was asked for comes first
    {"activations_of_a_long_sample",
     "large.json --set training.micro_batch=1 --set training.sequence=16384",
     "activations of rank 0 in forward", "strategy.activations.policy offload"},
    {"a_batch_of_small_samples",
     "large.json --set model=gpt2 --set training.sequence=1024 --set training.micro_batch=128",
     " of rank 0 in ", "training.micro_batch 64 with training.gradient_accumulation 2"},
    // a name with a blank must be quoted in the command to paste
    {"a_file_with_a_blank", "'my box.json'", "activations of rank 0 in forward",
     "training.micro_batch 1 with training.gradient_accumulation 8"},
    // 16 B of each of 3.2e9 parameters, and 64 GiB of host memory: more than ZeRO-Offload has.
    // Which of the others is the fastest is not this test's matter
    {"states_of_a_large_model", "large.json --set model=llama-3.2-3b --set training.micro_batch=1",
     "optimizer_states of rank 0 in init", "system "},
};

/// Lines of a paragraph put together.
std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class Remedy : public testing::TestWithParam<TooLarge> {};

TEST_P(Remedy, IsACommandThatFitsAsPasted) {
  if (GetParam().name == std::string("states_of_a_large_model")) LONG_TEST();
  const Workplace place;
  place.write("large.json", resident);
  place.write("my box.json", resident);
  const Ended ended = shell(place, "spillway simulate --limit 600 " + GetParam().arguments);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Does not fit: GPU memory needs "));
  EXPECT_THAT(in_one_line(ended.out), HasSubstr("The first that finds no room is"));
  EXPECT_THAT(in_one_line(ended.out), HasSubstr(GetParam().misses));
  EXPECT_THAT(ended.out, HasSubstr("It fits with " + GetParam().helps));
  // first what to buy, then what to change, then what a program runs if that is another
  EXPECT_THAT(ended.out, HasSubstr("GiB of GPU memory"));
  std::size_t commands = 0;
  std::istringstream lines(ended.out);
  for (std::string command; std::getline(lines, command);) {
    if (!command.starts_with("  spillway simulate ")) continue;
    ++commands;
    const Ended after = shell(place, command);
    EXPECT_THAT(after.out, HasSubstr("\nFits: ")) << command;
    EXPECT_EQ(after.exit, 0) << after.err;
  }
  const bool alone = in_one_line(ended.out).find("; runs with spillway alone") != std::string::npos;
  EXPECT_EQ(commands, alone ? 3u : 2u) << ended.out;
}

INSTANTIATE_TEST_SUITE_P(Of, Remedy, testing::ValuesIn(larges),
                         [](const auto& large) { return large.param.name; });

TEST(RemedyOfNothing, IsSaidWhenNoChangeHelps) {
  LONG_TEST();
  const Workplace place;
  place.write("large.json", resident);
  // as large as OPT-175B, in few blocks, which are soon simulated
  const std::string model =
      R"({"model_type": "opt", "hidden_size": 32768, "ffn_dim": 131072, "vocab_size": 50272,
          "num_attention_heads": 256, "num_hidden_layers": 14, "max_position_embeddings": 2048})";
  const Ended ended =
      shell(place, "spillway simulate large.json --limit 600 --set 'model=" + model +
                       "' --set training.sequence=2048");
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(ended.out, HasSubstr("Does not fit: "));
  EXPECT_THAT(ended.out, HasSubstr("No smaller micro-batch, further checkpointing, higher"));
  EXPECT_EQ(ended.out.find("It fits with"), std::string::npos);
}

// One report and not one more from each child that tried a remedy, though it goes to a pipe.
TEST(RemedyOfNothing, DoesNotRepeatTheReport) {
  const Workplace place;
  place.write("large.json", resident);
  const Ended ended = shell(place, "spillway simulate large.json | cat");
  const std::size_t first = ended.out.find("Does not fit");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(ended.out.find("Does not fit", first + 1), std::string::npos) << ended.out;
}

TEST(InfeasibleAsJson, IsAnAnswerThatNamesBufferTierAndBytes) {
  const Workplace place;
  place.write("large.json", resident);
  const Ended ended = shell(place, "spillway simulate large.json --json");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const nlohmann::json result = ended.json();
  EXPECT_EQ(result.at("feasible"), false);
  const nlohmann::json& why = result.at("infeasible");
  EXPECT_EQ(why.at("tier"), "gpu");
  EXPECT_EQ(why.at("purpose"), "activations");
  EXPECT_EQ(why.at("phase"), "forward");
  EXPECT_EQ(why.at("rank"), 0);
  EXPECT_GT(why.at("asked_bytes"), why.at("free_bytes"));
}

TEST(RemedyPrice, IsOfThePricesThatWereGiven) {
  const auto answer =
      spillway("simulate scenarios/examples/qwen7b_one_box.json --price dram=100 --json").json();
  const auto& remedy = answer.at("remedy").at("memory").at("result");
  EXPECT_NEAR(remedy.at("price_usd").get<double>() - answer.at("price_usd").get<double>(), 6400, 1)
      << "64 GiB more for 100 dollars each";
}

}  // namespace
}  // namespace spillway::e2e
