#include "tests/e2e/command.hpp"

#include "scenarios/json/shipped.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

namespace spillway::e2e {
namespace {

using nlohmann::json;

/// A configuration of tests/data for a model and a box.
struct Config {
  std::string file, model, machine;
};

class DeepSpeed : public testing::TestWithParam<Config> {};

/// What a result says of time, memory and bytes.
json outcome_of(json result) {
  for (const char* tier : {"gpu", "host", "ssd"})  // says the same in other words
    for (json& entry : result.at("peak_bytes").at(tier).at("entries")) entry.erase("setting");
  return {{"step_time_s", result.at("step_time_s")},
          {"peak_bytes", result.at("peak_bytes")},
          {"io", result.at("io_bytes_per_step")}};
}

/// What a scenario of `config` costs and needs.
json outcome(const Workplace& place, const std::string& scenario) {
  // compare asks for no what-ifs, which would be five simulations more
  const Ended ended = shell(place, "spillway compare " + scenario + " --json");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  return outcome_of(ended.json().at(0));
}

TEST_P(DeepSpeed, IsImportedSimulatedAndExportedToTheSameAgain) {
  const Workplace place;
  const std::string about =
      " --model " + GetParam().model + " --machine " + GetParam().machine + " --sequence 1024 ";
  const Ended imported =
      shell(place, "spillway import tests/data/" + GetParam().file + about + "-o first.json");
  ASSERT_EQ(imported.exit, 0) << imported.err;
  EXPECT_EQ(imported.out, "");
  const Ended exported =
      shell(place, "spillway export first.json --nvme-path /fast -o ds_config.json");
  ASSERT_EQ(exported.exit, 0) << exported.err;
  const Ended again = shell(place, "spillway import ds_config.json" + about + "-o second.json");
  ASSERT_EQ(again.exit, 0) << again.err;
  EXPECT_EQ(json::parse(file_text(place.path() / "first.json")),
            json::parse(file_text(place.path() / "second.json")));
  EXPECT_GT(outcome(place, "first.json").at("step_time_s"), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Configurations, DeepSpeed,
    testing::Values(Config{"ds_config_zero2_cpu_offload.json", "qwen2.5-7b", "workstation_2gpu"},
                    Config{"ds_config_zero3_cpu_offload_aio.json", "gpt2", "gaming_4090"},
                    Config{"ds_config_zero3_cpu_offload_aio.json", "llama-3.1-8b", "a100_40_4gpu"},
                    Config{"ds_config_zero3_nvme_auto.json", "gpt2", "gaming_4090"},
                    Config{"ds_config_zero3_nvme_auto.json", "qwen2.5-7b", "workstation_2gpu"},
                    Config{"ds_config_zero3_nvme_auto.json", "llama-3.1-8b", "l40s_server"}),
    [](const auto& config) {
      std::string name = config.param.file.substr(10) + config.param.machine;
      std::erase_if(name, [](char c) { return !isalnum(static_cast<unsigned char>(c)); });
      return name;
    });

// gpt2 has 1.24e8 parameters: sub-groups of 1e9 are one of matrices and one of norms and biases,
// and 20 % of two is none. Until 0.17 the CPU has 80 % of two, rounded down: one.
TEST(DeepSpeedImport, SaysThatARatioPutsNoSubgroupOnTheGpu) {
  const Workplace place;
  const auto notes = [&](const std::string& size, const std::string& more = "") {
    const Ended made =
        shell(place, R"(echo '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3, )"
                     R"("sub_group_size": )" +
                         size +
                         R"(, "offload_optimizer": {"device": "cpu", "ratio": 0.8}}}' > ds.json; )"
                         "spillway import ds.json --model gpt2 --machine gaming_4090 -o mine.json" +
                         more);
    EXPECT_EQ(made.exit, 0) << made.err;
    return made.err;
  };
  const auto says = testing::HasSubstr("cpu_share 0.8 (DeepSpeed's ratio) changes nothing");
  EXPECT_THAT(notes("1e9"), testing::AllOf(says, testing::HasSubstr("it takes 1 of ")));
  const json result = shell(place, "spillway simulate mine.json --json").json();
  EXPECT_THAT(result.dump(), says);
  EXPECT_THAT(notes("1e7"), testing::Not(says));
  EXPECT_THAT(notes("1e9", " --deepspeed 0.17"),
              testing::HasSubstr("DeepSpeed 0.17 gives the GPU 1 of a rank's 2 sub-groups"));
  EXPECT_THAT(notes("1e9", " --deepspeed 0.17 --set strategy.optimizer.cpu_share=0.25"),
              testing::AllOf(testing::Not(testing::HasSubstr("gives the GPU")),
                             testing::Not(testing::HasSubstr("changes nothing"))));
}

TEST(DeepSpeedExport, WantsTheFolderOnTheDrives) {
  const Workplace place;
  const std::string command = "spillway export scenarios/examples/llama8b_memascend_c1.json ";
  const Ended without = shell(place, command + "-o ds_config.json");
  EXPECT_EQ(without.exit, 2);
  EXPECT_THAT(without.err, testing::HasSubstr("--nvme-path: missing"));
  EXPECT_TRUE(place.files().empty());
  const Ended with = shell(place, command + "--nvme-path /fast");
  EXPECT_EQ(with.json()["zero_optimization"]["offload_param"]["nvme_path"], "/fast");
}

/// What its user needed: 751 GiB are reported to do for the second, where 600 do not.
TEST(DeepSpeedExport, SaysWhichBufferFindsNoRoomAndHowMuchMemoryIsEnough) {
  const Workplace place;
  const auto note_of = [&](const std::string& name) {
    const Ended ended = shell(place, "spillway export scenarios/published/field/" + name + ".json");
    EXPECT_EQ(ended.exit, 0) << ended.err;
    EXPECT_TRUE(ended.json().contains("zero_optimization"));
    return ended.err;
  };
  using testing::AllOf, testing::HasSubstr, testing::Not;
  EXPECT_THAT(note_of("qwen32b_h100_nvl_zero3_offload"),
              AllOf(HasSubstr("on h100_nvl this does not fit: needs"), HasSubstr("of host memory"),
                    HasSubstr("first optimizer_gradient_buffers in init"),
                    HasSubstr("the largest parts are optimizer_states"),
                    HasSubstr("it fits with 1024 GiB of host memory")));
  EXPECT_THAT(note_of("llama33b_8xa100_zero3_offload_600gib"),
              AllOf(HasSubstr(" in init"), HasSubstr("it fits with 768 GiB of host memory")));
  EXPECT_THAT(note_of("llama33b_8xa100_zero3_offload_800gib"), Not(HasSubstr("does not fit")));
  EXPECT_THAT(note_of("llama7b_zero_offload_94gb"),
              AllOf(HasSubstr(" in init"), HasSubstr("it fits with 256 GiB of host memory")));
}

TEST(DeepSpeedImport, SaysWhatAnotherVersionDoesWithTheFile) {
  const Workplace place;
  place.write("ds.json", R"({"bf16": {"enabled": true},  # a comment
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"},},})");
  const std::string about = "spillway import ds.json --model gpt2 --machine gaming_4090 ";
  const Ended newest = shell(place, about);
  EXPECT_EQ(newest.exit, 0) << newest.err;
  EXPECT_THAT(newest.err, testing::HasSubstr("pin_memory: not set; DeepSpeed 0.19 pins host memory "
                                             "(since 0.19.5), 0.18 does not: host peak "));
  const Ended older = shell(place, about + "--deepspeed 0.17");
  EXPECT_EQ(older.json()["strategy"]["gradients"]["d2h"], "pageable");
  EXPECT_THAT(older.err, testing::HasSubstr("DeepSpeed 0.17 does not pin host memory, 0.19 does"));
}

/// The words for `import` in the note of an export or of a plan, which break lines.
std::string import_words(const std::string& text) {
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  const std::string begin = "imported again with ", end = ", this file gives the scenario";
  const std::size_t from = line.find(begin), to = line.find(end);
  if (from == std::string::npos || to == std::string::npos) return "no words for import: " + text;
  return line.substr(from + begin.size(), to - from - begin.size());
}

/// Imports `file` as its note says, for the model and on the machine of `result`.
json imported_as_said(const Workplace& place, const json& result, const std::string& file,
                      const std::string& words) {
  place.write("model.json", result.at("scenario").at("model").dump());
  place.write("machine.json", result.at("scenario").at("machine").dump());
  const Ended imported =
      shell(place, "spillway import " + file +
                       " --model model.json --machine machine.json -o back.json " + words);
  EXPECT_EQ(imported.exit, 0) << imported.err;
  return outcome(place, "back.json");
}

/// Plans and fits simulate one step; the mean of two differs in its last digits.
const std::string one_step = " --set run.steps=1";

class EveryExample : public testing::TestWithParam<std::string> {};

TEST_P(EveryExample, ThatDeepSpeedRunsComesBackFromItsFileAsTheNoteSays) {
  const Workplace place;
  const Ended exported =
      shell(place, "spillway export " + GetParam() + " --nvme-path /fast -o ds_config.json");
  if (exported.exit != 0) {
    EXPECT_EQ(exported.exit, 2);
    EXPECT_FALSE(place.has("ds_config.json"));
    return;
  }
  const Ended simulated = shell(place, "spillway compare " + GetParam() + " --json");
  ASSERT_EQ(simulated.exit, 0) << simulated.err;
  const json result = simulated.json().at(0);
  EXPECT_EQ(imported_as_said(place, result, "ds_config.json", import_words(exported.err)),
            outcome_of(result));
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryExample,
                         testing::ValuesIn(scenarios::shipped_names("scenarios/examples")),
                         [](const auto& name) { return name.param; });

/// `plan settings` for a model and a box, with what else is said.
struct Plan {
  std::string name, about, more;

  friend void PrintTo(const Plan& plan, std::ostream* out) {
    *out << plan.about << " " << plan.more;
  }
};

class DeepSpeedPlan : public testing::TestWithParam<Plan> {};

TEST_P(DeepSpeedPlan, QuotesTheSimulationOfTheFileThatItWrites) {
  const Workplace place;
  const std::string command = "spillway plan settings " + GetParam().about + " " + GetParam().more +
                              " --nvme-path /fast --out best.json --json";
  const Ended ended = shell(place, command);
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json deepspeed = ended.json().at("deepspeed");
  EXPECT_THAT(deepspeed.at("words").get<std::string>(), testing::Not(testing::HasSubstr("gemini")));
  const std::string words = import_words(deepspeed.at("notes").back());
  const Ended imported = shell(place, "spillway import best.ds_config.json " + GetParam().about +
                                          " -o back.json " + words + one_step);
  ASSERT_EQ(imported.exit, 0) << imported.err;
  const json back = shell(place, "spillway compare back.json --json").json().at(0);
  place.write("said.json", deepspeed.at("scenario").dump());
  EXPECT_EQ(outcome_of(back), outcome(place, "said.json"));
  EXPECT_EQ(back.at("throughput").at("tokens_per_s"), deepspeed.at("tokens_per_s"));
  EXPECT_TRUE(back.at("feasible"));
  EXPECT_EQ(words.find("--set training") == std::string::npos,
            GetParam().more.find("fused") == std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Models, DeepSpeedPlan,
    testing::Values(
        Plan{"OneCard", "--model gpt2-xl --machine gaming_4090",
             "--sequence 512 --system colossal_gemini,zero_offload,zero_infinity --micro-batch 4"},
        Plan{"TwoCards", "--model llama-3.1-8b --machine workstation_2gpu",
             "--system zero_offload,zero_infinity --micro-batch 1,2,4"},
        Plan{"WithAFusedLoss", "--model gpt2-xl --machine gaming_4090",
             "--sequence 512 --system zero_offload --micro-batch 4 --set training.loss=fused"}),
    [](const auto& plan) { return plan.param.name; });

TEST(DeepSpeedFit, RunsAsPrintedFromTheFileOfItsScenario) {
  const Workplace place;
  const Ended fit =
      shell(place,
            "spillway fit llama-3.2-3b --gpu 4090 --ram 128G --ssd 2T --runnable --json "
            "--out best.json");
  ASSERT_EQ(fit.exit, 0) << fit.err;
  const json result = fit.json().at("runnable");
  ASSERT_EQ(result.at("runs_with").at("program"), "DeepSpeed");
  EXPECT_THAT(fit.json().at("notes").dump(), testing::HasSubstr("--set training.loss=fused"));
  const Ended exported =
      shell(place, "spillway export best.json --nvme-path /fast -o ds_config.json");
  ASSERT_EQ(exported.exit, 0) << exported.err;
  EXPECT_EQ(
      imported_as_said(place, result, "ds_config.json", import_words(exported.err) + one_step),
      outcome_of(result));
}

TEST(DeepSpeedImport, RefusesWhatNothingCanRun) {
  const Workplace place;
  place.write("small.json", R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3,
    "offload_optimizer": {"device": "cpu"},
    "offload_param": {"device": "nvme", "nvme_path": "/nvme", "buffer_size": 1e6}}})");
  const std::string about = " --model gpt2 --machine gaming_4090 -o made.json";
  const Ended small = shell(place, "spillway import small.json" + about);
  EXPECT_EQ(small.exit, 2);
  EXPECT_THAT(small.err,
              testing::HasSubstr("small.json: strategy.weights.buffer_size: 1e6 params is below "
                                 "the largest tensor of a rank"));
  EXPECT_FALSE(std::filesystem::exists(place.path() / "made.json"));
  const Ended chosen = shell(
      place, "spillway import small.json" + about + " --set strategy.weights.buffer_size=auto");
  EXPECT_EQ(chosen.exit, 0) << chosen.err;
}

TEST(DeepSpeedImport, TakesWhatTheFileDoesNotSay) {
  const Workplace place;
  place.write("ds.json", R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}})");
  const std::string command = "spillway import ds.json --model gpt2 --machine gaming_4090 --set ";
  const Ended fused = shell(place, command + "training.loss=fused");
  EXPECT_EQ(fused.json()["training"]["loss"], "fused");
  EXPECT_THAT(fused.err, testing::Not(testing::HasSubstr("training.loss: plain")));
  const Ended wrong = shell(place, command + "training.loss=fusd");
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, testing::HasSubstr("did you mean \"fused\""));
  EXPECT_THAT(shell(place, command + "machine.gpu.count=2").err,
              testing::HasSubstr("no matter of the configuration"));
}

}  // namespace
}  // namespace spillway::e2e
