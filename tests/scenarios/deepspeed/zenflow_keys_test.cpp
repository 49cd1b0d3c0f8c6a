#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/reports/text/words_of.hpp"

/// The section `zenflow`, there and back.
namespace spillway::scenarios::zenflow_keys_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

Imported import(const std::string& section, const std::string& more = "", int stage = 2) {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  options.deepspeed = "0.19";
  const std::string text = fmt::format(
      R"({{"bf16": {{"enabled": true}}, "zero_optimization": {{"stage": {}, {}
           "offload_optimizer": {{"device": "cpu"}}, "zenflow": {{{}}}}}}})",
      stage, more, section);
  return import_deepspeed(parse_hjson(text, "ds.json"), options);
}

TEST(ImportDeepSpeed, TakesWhatZenFlowSays) {
  const Imported taken = import(R"("topk_ratio": 0.05, "update_interval": 6, "overlap_step": true,
                                   "offload": true, "full_warm_up_rounds": 3)",
                                R"("overlap_comm": true,)");
  const auto& optimizer = taken.scenario["strategy"]["optimizer"];
  EXPECT_EQ(taken.scenario["strategy"]["system"], "zenflow");
  EXPECT_EQ(optimizer["selected_share"], 0.05);
  EXPECT_EQ(optimizer["selected_states"], "host");
  EXPECT_EQ(optimizer["staleness"], 1);
  EXPECT_EQ(taken.scenario["training"]["gradient_accumulation"], 6);
  EXPECT_THAT(text::words_of(taken.notes),
              Contains(HasSubstr("full_warm_up_rounds: the first 3 micro-batches")));
  const Imported plain = import(R"("update_interval": 2)");
  EXPECT_FALSE(plain.scenario["strategy"]["optimizer"].contains("selected_states"));
  EXPECT_THAT(text::words_of(plain.notes),
              testing::Not(Contains(HasSubstr("full_warm_up_rounds"))));
}

TEST(ImportDeepSpeed, RefusesZenFlowsOffloadWhereDeepSpeedStops) {
  try {
    import(R"("offload": true)");
    FAIL() << "it was taken";
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(error.what(), HasSubstr("DeepSpeed stops at this without overlap_comm"));
  }
}

// In stage 3 while weights stay on the GPUs.
TEST(ImportDeepSpeed, TakesZenFlowOfStage3) {
  const Imported spread = import(R"("update_interval": 2)", "", 3);
  EXPECT_EQ(spread.scenario["strategy"]["system"], "zenflow");
  EXPECT_EQ(spread.scenario["parallel"]["zero_stage"], 3);
  const Imported away =
      import(R"("update_interval": 2)", R"("offload_param": {"device": "cpu"},)", 3);
  EXPECT_NE(away.scenario["strategy"]["system"], "zenflow");
  EXPECT_THAT(text::words_of(away.notes),
              Contains(HasSubstr("zenflow: not simulated but in stage 2, or in 3 without")));
}

TEST(ExportDeepSpeed, WritesZenFlow) {
  const auto section = [](const char* states) {
    const std::string text = fmt::format(
        R"({{"model": "gpt2", "machine": "memascend_c1",
             "training": {{"precision": "bf16_mixed", "gradient_accumulation": 4}},
             "strategy": {{"system": "zenflow",
                           "optimizer": {{"selected_states": "{}"}}}}}})",
        states);
    const std::vector<SystemInfo> systems{
        {"zenflow", strategies::defaults_of("zenflow")},
        {"zero_offload", strategies::defaults_of("zero_offload")}};
    const auto resolved = read_scenario(parse_located(text, "a.json"), {}, systems);
    const nlohmann::json config = export_deepspeed(resolved.scenario, systems, {}).ds_config;
    EXPECT_FALSE(config.contains("gradient_clipping"));  // 0 would be of the simulation alone
    return config["zero_optimization"]["zenflow"];
  };
  EXPECT_EQ(section("host")["offload"], true);
  EXPECT_EQ(section("gpu")["offload"], false);
  EXPECT_EQ(section("gpu")["update_interval"], 4);
  EXPECT_EQ(section("gpu")["overlap_step"], true);
}

}  // namespace
}  // namespace spillway::scenarios::zenflow_keys_test
