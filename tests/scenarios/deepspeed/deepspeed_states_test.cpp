#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/reports/text/words_of.hpp"

/// `bf16_master_weights_and_grads` and `bf16_optimizer_states`, there and back.
namespace spillway::scenarios::deepspeed_states_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* both =
    R"("bf16_master_weights_and_grads": true, "bf16_optimizer_states": true)";

/// Of `more` in the section bf16, ZeRO of a stage, and what is offloaded.
Imported import(const std::string& more, int stage, const std::string& offload = "",
                const std::string& version = "0.19") {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  options.deepspeed = version;
  const std::string text = fmt::format(
      R"({{"bf16": {{"enabled": true, {}}}, "zero_optimization": {{"stage": {}{}}}}})", more, stage,
      offload.empty()
          ? ""
          : R"(, "offload_optimizer": {"device": ")" + offload + R"(", "nvme_path": "/nvme"})");
  return import_deepspeed(parse_hjson(text, "ds.json"), options);
}

std::string refused(const std::string& more, int stage) {
  try {
    import(more, stage);
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

void expect_narrow(const Imported& imported) {
  EXPECT_EQ(imported.scenario["training"]["optimizer_state"], "bf16");
  EXPECT_EQ(imported.scenario["strategy"]["optimizer"]["master"], "copy");
  // what import writes can be simulated
  const std::vector<SystemInfo> systems = [] {
    std::vector<SystemInfo> all;
    for (const char* name : {"resident", "zero_offload", "zero_infinity"})
      all.push_back({name, strategies::defaults_of(name)});
    return all;
  }();
  EXPECT_NO_THROW(read_scenario(imported.scenario, {}, systems));
}

void expect_wide(const Imported& imported, const std::string& words) {
  EXPECT_FALSE(imported.scenario["training"].contains("optimizer_state"));
  EXPECT_FALSE(imported.scenario["strategy"]["optimizer"].contains("master"));
  EXPECT_THAT(text::words_of(imported.notes), Contains(HasSubstr(words)));
}

TEST(DeepSpeedStates, OfSixteenBitsHaveMastersBesideTheWeights) {
  for (const int stage : {1, 2, 3}) expect_narrow(import(both, stage));
  const Imported offloaded = import(both, 3, "cpu");
  expect_narrow(offloaded);
  EXPECT_EQ(offloaded.scenario["strategy"]["gradients"]["policy"], "host_fp32");
  const Imported on_drives = import(both, 3, "nvme");
  EXPECT_EQ(on_drives.scenario["training"]["optimizer_state"], "bf16");
  EXPECT_EQ(on_drives.scenario["strategy"]["gradients"]["policy"], "host_fp16");
  expect_narrow(on_drives);
  EXPECT_THAT(text::words_of(on_drives.notes), Contains(HasSubstr("bytes and wear are lower")));
  EXPECT_THAT(text::words_of(offloaded.notes), Not(Contains(HasSubstr("not counted"))));
}

TEST(DeepSpeedStates, StayWideWhereDeepSpeedKeepsThemSoAndItIsSaid) {
  expect_wide(import(both, 3, "", "0.17"), "ignored, DeepSpeed has it since 0.18.3");
  expect_wide(import(both, 3, "cpu", "0.18"), "states of a CPU optimizer in bf16 since 0.19.1");
  expect_wide(import(R"("bf16_master_weights_and_grads": true)", 3, "cpu"),
              "fp32 here beside fp32 states");
}

TEST(DeepSpeedStates, AreRefusedWhereDeepSpeedStops) {
  EXPECT_THAT(refused(both, 0), HasSubstr("DeepSpeed stops at this in stage 0"));
  EXPECT_THAT(refused(R"("bf16_optimizer_states": true)", 3),
              HasSubstr("without bf16_master_weights_and_grads"));
  EXPECT_THAT(refused(R"("bf16_master_weights_and_grads": true)", 3),
              HasSubstr("without a CPU optimizer"));
}

TEST(DeepSpeedStates, OfACpuAreOfDeepSpeedsOwnAdam) {
  const auto said = [](const std::string& optimizer) {
    const std::string text = std::string(R"({"bf16": {"enabled": true, )") + both + "}, " +
                             optimizer +
                             R"("zero_optimization": {"stage": 2,
                                "offload_optimizer": {"device": "cpu"}}})";
    ImportOptions options;
    options.model = "gpt2";
    options.machine = "memascend_c1";
    try {
      std::string notes;
      for (const std::string& note :
           text::words_of(import_deepspeed(parse_hjson(text, "ds.json"), options).notes))
        notes += note + "\n";
      return notes;
    } catch (const description::ScenarioError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(said(R"("optimizer": {"type": "AdamW"}, )"), Not(HasSubstr("DeepSpeedCPUAdam")));
  EXPECT_THAT(said(""), HasSubstr("the trainer's own must be DeepSpeedCPUAdam"));
  EXPECT_THAT(said(R"("optimizer": {"type": "Lion"}, )"), HasSubstr("stops at \"Lion\" of a CPU"));
  EXPECT_THAT(said(R"("optimizer": {"type": "Adam", "params": {"torch_adam": true}}, )"),
              HasSubstr("stops at PyTorch's Adam"));
}

TEST(DeepSpeedStates, AreWrittenForAScenarioThatHasThem) {
  const std::vector<SystemInfo> systems{{"resident", strategies::defaults_of("resident")}};
  const auto exported = [&](const char* master) {
    const std::string text = fmt::format(R"({{"model": "gpt2", "machine": "h100_8gpu",
      "training": {{"precision": "bf16_mixed", "optimizer_state": "bf16"}},
      "parallel": {{"data": 8, "zero_stage": 3}},
      "strategy": {{"system": "resident", "optimizer": {{"master": "{}", "flatten": true}},
                    "gradients": {{"memory": "at_start"}}}}}})",
                                         master);
    const auto resolved = read_scenario(parse_located(text, "a.json"), {}, systems);
    return export_deepspeed(resolved.scenario, systems, {});
  };
  const nlohmann::json section = exported("copy").ds_config["bf16"];
  EXPECT_EQ(section["bf16_master_weights_and_grads"], true);
  EXPECT_EQ(section["bf16_optimizer_states"], true);
  EXPECT_THAT(
      [&] { exported("own"); },
      testing::Throws<description::ScenarioError>(testing::Property(
          &std::exception::what, HasSubstr("strategy.optimizer.master: DeepSpeed 0.19 has"))));
}

}  // namespace
}  // namespace spillway::scenarios::deepspeed_states_test
