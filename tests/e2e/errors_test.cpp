#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::e2e::errors_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A command that is wrong, and what it must say: each of these on standard error.
struct Wrong {
  std::string name;
  std::string arguments;
  std::vector<std::string> says;
};

std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.name; }

const std::string tiny = "simulate scenarios/examples/tiny.json ";

const std::vector<Wrong> wrongs = {
    {"missing_file", "simulate gone.json", {"gone.json: the file cannot be read"}},
    {"unknown_key",
     tiny + "--set training.micro_batchs=8",
     {"--set training.micro_batchs=8: training.micro_batchs: no such key",
      "did you mean \"micro_batch\"?"}},
    {"unknown_system",
     tiny + "--set strategy.system=zero_infinty",
     {"strategy.system: no \"zero_infinty\"", "did you mean \"zero_infinity\"?"}},
    {"unknown_optimizer",
     tiny + "--set training.optimizer=adam4bit",
     {"no \"adam4bit\"", "did you mean \"adam8bit\"?"}},
    {"unknown_model", tiny + "--set model=qwen2.5-8b", {"did you mean \"qwen2.5-3b\"?"}},
    {"unknown_machine", "machine gaming4090", {"did you mean \"gaming_4090\"?"}},
    {"wrong_unit",
     tiny + "--set 'machine.gpu.memory=24 GB/s'",
     {"machine.gpu.memory: \"24 GB/s\"", "write a size such as \"24 GiB\""}},
    {"no_unit",
     tiny + "--set machine.pcie.h2d='\"24\"'",
     {"machine.pcie.h2d: \"24\" has no unit", "write a rate such as"}},
    {"negative_size", tiny + "--set 'machine.gpu.memory=-3 GiB'", {"\"-3 GiB\" is negative"}},
    {"negative_count", tiny + "--set training.micro_batch=-1", {"training.micro_batch: -1"}},
    {"more_ranks_than_gpus",
     tiny + "--set parallel.data=3",
     {"parallel: data 3 x tensor 1 x pipeline 1 makes 3 ranks, but gaming_4090 has 1 GPU"}},
    {"sequence_over_the_limit",
     tiny + "--set training.sequence=513",
     {"training.sequence: 513 tokens", "512 positions"}},
    {"contradictory_parts",
     tiny + "--set strategy.optimizer.home=gpu",
     {"strategy.optimizer.home: states on the GPU cannot be updated by the CPU"}},
    {"gds_without_gpudirect",
     tiny + "--set strategy.io_engine=gds",
     {"io_engine \"gds\" contradicts machine.gpu.gpudirect false"}},
    {"not_an_override", tiny + "--set training.micro_batch", {"not of the form path=value"}},
    {"unknown_verb", "simulat x.json", {"no verb \"simulat\"; did you mean \"simulate\"?"}},
    {"unknown_verb_of_a_verb", "plan machin", {"no verb \"machin\"; did you mean \"machine\"?"}},
    {"option_after_its_value",
     "plan machine --model gpt2-xl --tokens_per_day 1M --budget 5000",
     {"no option \"--tokens_per_day\"; did you mean \"--tokens-per-day\"?",
      "see spillway plan machine --help"}},
    {"unknown_option",
     tiny + "--explian",
     {"no option \"--explian\"; did you mean \"--explain\"?"}},
    {"unknown_topic",
     tiny + "--explain memry",
     {"--explain: no \"memry\"; write all, memory, time, settings or nothing"}},
    {"no_scenario", "simulate --explain memory", {"scenario is required"}},
    {"model_without_such_precision",
     "model gpt2 --precision bf15",
     {"--precision: no \"bf15\"; did you mean \"bf16\"?"}},
    {"model_with_mistyped_experts",
     "model mixtral-8x7b --experts seperate",
     {"--experts: no \"seperate\"; did you mean \"separate\"?"}},
    {"model_whose_experts_are_always_stacked",
     "model gpt-oss-20b --experts separate",
     {"--experts: gpt_oss keeps all experts in one tensor", "leave it out"}},
    {"model_with_no_tokens", "model gpt2 --sequence 0", {"\"0\" is not a count of 1 or more"}},
    {"model_longer_than_it_can", "model gpt2 --sequence 1025", {"1024 positions"}},
    {"validate_nowhere", "validate", {"--on is required"}},
    {"validate_in_no_directory",
     "validate --on scenarioss",
     {"\"scenarioss\" does not exist", "did you mean", "scenarios\"?"}},
    {"validate_on_a_mistyped_device",
     "validate --on /dev/nvme9n9",
     {"\"/dev/nvme9n9\" does not exist, and devices are no directories"}},
    {"validate_on_a_mistyped_raw_device",
     "validate --on /dev/nvme9n9 --allow-raw S1",
     {"--allow-raw: /dev/nvme9n9 does not exist", "lsblk"}},
    {"validate_twice_in_one_place",
     "validate --on nvme=. --on nvme=/tmp",
     {"two directories for the storage \"nvme\""}},
    {"validate_with_chosen_tokens",
     "validate --on . --set model=deepseek-v3.2",
     {"deepseek-v3.2 has attention to chosen tokens", "--synthetic"}},
    {"validate_in_a_pipeline", "validate --on . --set parallel.pipeline=3", {"parallel.pipeline"}},
    {"validate_paced_by_nothing",
     "validate --on . --pace paced_smal",
     {"did you mean \"paced_small\"?"}},
    {"autotuner_list",
     "import tests/data/ds_config_autotuner_refused.json --model gpt2 --machine gaming_4090",
     {"ds_config_autotuner_refused.json:2:37: train_micro_batch_size_per_gpu", "autotuner"}},
};

class Errors : public testing::TestWithParam<Wrong> {};

TEST_P(Errors, ExitWithTwoAndSayWhatWouldBeRight) {
  const Ended ended = spillway(GetParam().arguments);
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(ended.out, "");
  for (const std::string& words : GetParam().says) EXPECT_THAT(ended.err, HasSubstr(words));
}

TEST_P(Errors, AreJsonOnStandardOutputWhenAskedFor) {
  const Ended ended = spillway(GetParam().arguments + " --json");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(ended.err, "");
  const nlohmann::json errors = ended.json().at("errors");
  ASSERT_FALSE(errors.empty());
  for (const nlohmann::json& error : errors)
    for (const char* key : {"file", "line", "column", "path", "message", "hint"})
      EXPECT_TRUE(error.contains(key)) << error;
}

INSTANTIATE_TEST_SUITE_P(OfTheUser, Errors, testing::ValuesIn(wrongs),
                         [](const auto& wrong) { return wrong.param.name; });

TEST(ErrorsOfTheCommand, NameTheVerbsWhenThereIsNone) {
  const Ended ended = spillway("");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("a verb is missing: fit, new, describe, simulate, compare, "));
}

TEST(ErrorsOfAFile, AreAllToldAtOnceWithTheirPlaces) {
  const Workplace place;
  place.write("many.json", R"({
  "model": "gpt2",
  "machine": "gaming_4090",
  "training": { "micro_batchs": 4, "sequence": -5, "precision": "fp17" },
  "strategy": { "system": "zero_offlod", "optimizer": { "subgroup": "1e8 GB" } },
  "runn": {}
})");
  const Ended ended = shell(place, "spillway simulate many.json");
  EXPECT_EQ(ended.exit, 2);
  for (const char* line :
       {"many.json:4:17: training.micro_batchs: no such key; did you mean \"micro_batch\"?",
        "many.json:4:48: training.sequence: -5 is below 1",
        "many.json:4:65: training.precision: no \"fp17\"; did you mean \"fp16\"?",
        "many.json:5:27: strategy.system: no \"zero_offlod\"; did you mean \"zero_offload\"?",
        "many.json:5:69: strategy.optimizer.subgroup: \"1e8 GB\" is not a count",
        "many.json:6:3: runn: no such key; did you mean \"run\"?"})
    EXPECT_NE(line_of(ended.err, line), "") << line << " is not in\n" << ended.err;
}

TEST(ErrorsOfAFile, PointIntoBrokenJson) {
  const Workplace place;
  place.write("broken.json", "{\n  \"model\": \"gpt2\"\n  \"machine\": \"gaming_4090\"\n}\n");
  const Ended ended = shell(place, "spillway simulate broken.json");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, StartsWith("broken.json:3:3: not JSON"));
}

// What simulate would say of it, as soon as somebody looks at it.
TEST(ErrorsOfAMachine, AreThoseOfEveryVerbThatUsesIt) {
  const Workplace place;
  place.write("mine.json", R"({"name": "mine", "extends": "gaming_4090",
    "host": {"memory": "900 TiB"}})");
  const Ended ended = shell(place, "spillway machine mine.json");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, StartsWith("mine.json: host.memory: "));
  EXPECT_EQ(ended.out, "");
}

TEST(ErrorsOfAComparison, NameEachFilesFaultsOnce) {
  const Workplace place;
  place.write("bad.json", R"({"model": "gpt2", "machine": "gaming_4090", "traning": {}})");
  const Ended ended = shell(
      place, "spillway compare bad.json scenarios/examples/tiny.json --system resident,lohan");
  EXPECT_EQ(ended.exit, 2);
  const std::size_t first = ended.err.find("bad.json:1:45: traning: no such key");
  ASSERT_NE(first, std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("traning", first + 30), std::string::npos) << ended.err;
  // what is wrong on the command line is of no file
  const Ended unknown = shell(place, "spillway compare bad.json --system resident,nosuch");
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_THAT(unknown.err, StartsWith("--system: no \"nosuch\""));
}

}  // namespace
}  // namespace spillway::e2e::errors_test
