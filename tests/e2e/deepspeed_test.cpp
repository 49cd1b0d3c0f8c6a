#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::e2e {
namespace {

using nlohmann::json;

/// A configuration of tests/data for a model and a box.
struct Config {
  std::string file, model, machine;
};

class DeepSpeed : public testing::TestWithParam<Config> {};

/// What a scenario of `config` costs and needs.
json outcome(const Workplace& place, const std::string& scenario) {
  // compare asks for no what-ifs, which would be five simulations more
  const Ended ended = shell(place, "spillway compare " + scenario + " --json");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  json result = ended.json().at(0);
  for (const char* tier : {"gpu", "host", "ssd"})  // says the same in other words
    for (json& entry : result.at("peak_bytes").at(tier).at("entries")) entry.erase("setting");
  return {{"step_time_s", result.at("step_time_s")},
          {"peak_bytes", result.at("peak_bytes")},
          {"io", result.at("io_bytes_per_step")}};
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

TEST(DeepSpeedPlan, QuotesTheSimulationOfTheFileThatItWrites) {
  const Workplace place;
  const Ended ended = shell(place,
                            "spillway plan settings --model gpt2-xl --machine gaming_4090 "
                            "--sequence 512 --system colossal_gemini,zero_offload,zero_infinity "
                            "--micro-batch 4 --nvme-path /fast --out best.json --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json deepspeed = ended.json().at("deepspeed");
  EXPECT_THAT(deepspeed.at("words").get<std::string>(), testing::Not(testing::HasSubstr("gemini")));
  const Ended imported = shell(place,
                               "spillway import best.ds_config.json --model gpt2-xl --machine "
                               "gaming_4090 --sequence 512 -o back.json");
  ASSERT_EQ(imported.exit, 0) << imported.err;
  const json back = json::parse(file_text(place.path() / "back.json"));
  place.write("said.json", deepspeed.at("scenario").dump());
  const Ended simulated = shell(place, "spillway compare said.json --json");
  EXPECT_EQ(simulated.json().at(0).at("throughput").at("tokens_per_s"),
            deepspeed.at("tokens_per_s"));
}

}  // namespace
}  // namespace spillway::e2e
