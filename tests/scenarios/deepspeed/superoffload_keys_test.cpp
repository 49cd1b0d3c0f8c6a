#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/reports/text/words_of.hpp"

/// `super_offload` and what stands beside it, there and back.
namespace spillway::scenarios::superoffload_keys_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

Imported import(const std::string& text, const std::string& version) {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  options.deepspeed = version;
  return import_deepspeed(parse_hjson(text, "ds.json"), options);
}

TEST(ImportDeepSpeed, TakesSuperOffloadWhereDeepSpeedSpeculates) {
  const auto with = [](const char* stage, const std::string& more, const std::string& version) {
    return import(
        fmt::format(R"({{"fp16": {{"enabled": true}}, {}"zero_optimization": {{"stage": {},
                                  "offload_optimizer": {{"device": "cpu", "super_offload": true,
                                  "cpuadam_cores_perc": 0.8}}}}}})",
                    more, stage),
        version);
  };
  const Imported taken = with("3", "", "0.18");
  const auto& strategy = taken.scenario["strategy"];
  EXPECT_EQ(strategy["system"], "superoffload");
  EXPECT_EQ(strategy["gradients"]["policy"], "active");
  EXPECT_EQ(strategy["optimizer"]["cpu_share"], 1);  // `ratio` unsaid
  EXPECT_EQ(strategy["overflow_check"], "chained");
  EXPECT_EQ(strategy["weights"]["h2d"], "typed");
  EXPECT_THAT(text::words_of(taken.notes), Contains(HasSubstr("cpuadam_cores_perc")));
  for (const Imported& waits : {with("2", "", "0.18"), with("3", "", "0.16"),
                                with("3", R"("gradient_clipping": 1.0, )", "0.18")}) {
    EXPECT_EQ(waits.scenario["strategy"]["system"], "zero_offload");
    EXPECT_THAT(text::words_of(waits.notes), Contains(HasSubstr("super_offload")));
  }
}

TEST(ExportDeepSpeed, WritesSuperOffload) {
  const std::string text = R"({"model": "gpt2", "machine": "memascend_c1",
    "training": {"precision": "fp16_mixed"}, "parallel": {"data": 2},
    "strategy": {"system": "superoffload", "preset": "deepspeed_0.18",
                 "optimizer": {"cpu_share": 0.5}}})";
  const std::vector<SystemInfo> systems{{"superoffload", strategies::defaults_of("superoffload")}};
  const auto resolved = read_scenario(parse_located(text, "a.json"), {}, systems);
  const Exported made = export_deepspeed(resolved.scenario, systems, {});
  const auto& section = made.ds_config["zero_optimization"]["offload_optimizer"];
  EXPECT_EQ(section["super_offload"], true);
  EXPECT_EQ(section["ratio"], 0.5);
  // it does not speculate beside clipping, and says so by that name
  description::Scenario clips = resolved.scenario;
  clips.training.gradient_clipping = 1;
  try {
    export_deepspeed(clips, systems, {});
    FAIL();
  } catch (const description::ScenarioError& error) {
    ASSERT_EQ(error.complaints().size(), 1u);
    EXPECT_EQ(error.complaints()[0].path, "training.gradient_clipping");
  }
}

}  // namespace
}  // namespace spillway::scenarios::superoffload_keys_test
