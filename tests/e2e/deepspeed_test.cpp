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
  ASSERT_EQ(shell(place, "spillway export first.json -o ds_config.json").exit, 0);
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

/// A shipped scenario of DeepSpeed, with the model, box, tokens and ranks that a ds_config leaves
/// out.
struct Shipped {
  std::string name, model, machine, sequence, ranks;
};

class Exported : public testing::TestWithParam<Shipped> {};

TEST_P(Exported, ComesBackWithTheSameStepAndPeaks) {
  const Workplace place;
  const Shipped& shipped = GetParam();
  // a configuration cannot say that gradients are staged; an imported one does not
  const std::string scenario =
      "scenarios/examples/" + shipped.name + ".json --set strategy.gradients.staging_buffer=false";
  ASSERT_EQ(shell(place, "spillway export " + scenario + " -o ds_config.json").exit, 0);
  const Ended imported =
      shell(place, "spillway import ds_config.json --model " + shipped.model + " --machine " +
                       shipped.machine + " --sequence " + shipped.sequence + " --ranks " +
                       shipped.ranks + " -o back.json");
  ASSERT_EQ(imported.exit, 0) << imported.err;
  EXPECT_TRUE(outcome(place, scenario) == outcome(place, "back.json"));
}

INSTANTIATE_TEST_SUITE_P(
    Examples, Exported,
    testing::Values(Shipped{"llama8b_memascend_c1", "llama-3.1-8b", "memascend_c1", "4096", "1"},
                    Shipped{"llama8b_four_gpus", "llama-3.1-8b", "a100_40_4gpu", "4096", "4"}),
    [](const auto& shipped) { return shipped.param.name; });

}  // namespace
}  // namespace spillway::e2e
