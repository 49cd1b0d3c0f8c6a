#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/scenarios/deepspeed/imported.hpp"

/// `gradient_clipping`, and Adafactor with and without ZeRO.
namespace spillway::scenarios::clipping_keys_test {
namespace {

using test::import;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

double clipped(const std::string& text, const std::string& version = "") {
  return import(text, version).scenario["training"].value("gradient_clipping", 0.0);
}

TEST(ImportDeepSpeed, TakesGradientClippingAsItsVersionHasIt) {
  EXPECT_EQ(clipped(R"({"gradient_clipping": 0.5})"), 0.5);
  EXPECT_EQ(clipped(R"({"gradient_clipping": 0})"), 0);
  EXPECT_EQ(clipped("{}"), 1);
  EXPECT_EQ(clipped("{}", "0.19.3"), 1);
  EXPECT_EQ(clipped("{}", "0.19.2"), 0);
  EXPECT_EQ(clipped("{}", "0.16"), 0);
  EXPECT_EQ(clipped(R"({"gradient_clipping": "auto"})", "0.16"), 1);
  EXPECT_THAT(text::words_of(import(R"({"gradient_clipping": "auto"})").notes),
              Contains(HasSubstr("follows the trainer's max_grad_norm")));
  EXPECT_THAT(text::words_of(import("{}").notes), Contains(HasSubstr("since 0.19.3")));
  EXPECT_THAT(text::words_of(import(R"({"gradient_clipping": 0.5})").notes),
              Not(Contains(HasSubstr("gradient_clipping"))));
}

TEST(ImportDeepSpeed, SpeculatesWhereNoNormIsClipped) {
  const auto system = [](const std::string& more, const std::string& version) {
    return import(fmt::format(R"({{{}"fp16": {{"enabled": true}}, "zero_optimization":
                      {{"stage": 3, "offload_optimizer": {{"device": "cpu",
                                                           "super_offload": true}}}}}})",
                              more),
                  version)
        .scenario["strategy"]["system"];
  };
  EXPECT_EQ(system("", "0.19.6"), "zero_offload");
  EXPECT_EQ(system(R"("gradient_clipping": 0, )", "0.19.6"), "superoffload");
  EXPECT_EQ(system("", "0.19.2"), "superoffload");
}

TEST(ImportDeepSpeed, ClipsNoNormBesideZenflow) {
  const Imported imported = import(R"({"bf16": {"enabled": true}, "gradient_clipping": 1,
      "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"},
                            "zenflow": {"update_interval": 4}}})");
  EXPECT_FALSE(imported.scenario["training"].contains("gradient_clipping"));
  EXPECT_THAT(text::words_of(imported.notes), Contains(HasSubstr("gradient_clipping: 0 here")));
}

TEST(ImportDeepSpeed, ClipsNoNormWhereNothingTakesOne) {
  const auto of = [](const char* version) {
    return import(R"({"gradient_clipping": 1, "bf16": {"enabled": true}, "zero_optimization":
        {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/fast"}}})",
                  version);
  };
  EXPECT_FALSE(of("0.9.3").scenario["training"].contains("gradient_clipping"));
  EXPECT_THAT(text::words_of(of("0.9.3").notes),
              Contains(HasSubstr("gradient_clipping: 0 here, as gradients of a step")));
  EXPECT_EQ(of("0.16").scenario["training"]["gradient_clipping"], 1);
}

Exported exported(const std::string& training) {
  const std::string text = R"({"model": "gpt2", "machine": "memascend_c1",
    "training": {"precision": "bf16_mixed")" +
                           training + R"(}, "strategy": {"system": "zero_offload"}})";
  const std::vector<SystemInfo> systems{{"zero_offload", strategies::defaults_of("zero_offload")},
                                        {"resident", strategies::defaults_of("resident")}};
  const auto resolved = read_scenario(parse_located(text, "a.json"), {}, systems);
  return export_deepspeed(resolved.scenario, systems, {});
}

TEST(ExportDeepSpeed, WritesGradientClippingAlsoWhereThereIsNone) {
  EXPECT_EQ(exported(R"(, "gradient_clipping": 0.5)").ds_config["gradient_clipping"], 0.5);
  EXPECT_EQ(exported("").ds_config["gradient_clipping"], 0);
  for (const char* training : {"", R"(, "gradient_clipping": 0.5)"})
    EXPECT_THAT(text::words_of(exported(training).notes),
                Not(Contains(HasSubstr("training.gradient_clipping"))));
}

TEST(ExportDeepSpeed, WritesAdafactorWhereItSeesMatrices) {
  const auto config = [](const char* stage) {
    const std::string text = fmt::format(R"({{"model": "gpt2", "machine": "memascend_c1",
      "training": {{"precision": "bf16_mixed", "optimizer": "adafactor"}},
      "parallel": {{"zero_stage": {}}}, "strategy": {{"system": "resident"}}}})",
                                         stage);
    const std::vector<SystemInfo> systems{{"resident", strategies::defaults_of("resident")}};
    const auto resolved = read_scenario(parse_located(text, "a.json"), {}, systems);
    return export_deepspeed(resolved.scenario, systems, {}).ds_config;
  };
  EXPECT_EQ(config("0")["optimizer"]["type"], "Adafactor");
  EXPECT_FALSE(config("1").contains("optimizer"));
}

// PyTorch's has the matrices themselves where DeepSpeed makes no partitions of them.
TEST(ImportDeepSpeed, TakesAdafactorWhereItSeesMatrices) {
  const auto with = [](const std::string& more, const std::string& version = "") {
    return import(R"({"optimizer": {"type": "Adafactor"}, "bf16": {"enabled": true})" + more + "}",
                  version);
  };
  const auto kind = [](const Imported& imported) {
    return imported.scenario["training"]["optimizer"].get<std::string>();
  };
  const Imported alone = with("");
  EXPECT_EQ(kind(alone), "adafactor");
  EXPECT_FALSE(alone.scenario.contains("note"));
  EXPECT_THAT(text::words_of(alone.notes), Contains(HasSubstr("\"Adafactor\" is PyTorch's")));
  EXPECT_EQ(kind(with(R"(, "zero_optimization": {"stage": 0})")), "adafactor");
  // BF16_Optimizer shares vectors
  EXPECT_EQ(kind(with("", "0.16")), "adam");
  for (const char* stage : {"1", "2", "3"}) {
    const Imported parts = with(fmt::format(R"(, "zero_optimization": {{"stage": {}}})", stage));
    EXPECT_EQ(kind(parts), "adam") << stage;
    EXPECT_THAT(text::words_of(parts.notes), Contains(HasSubstr("a variance for each weight")))
        << stage;
    EXPECT_THAT(text::words_of(parts.notes),
                Not(Contains(HasSubstr("zero_force_ds_cpu_optimizer"))))
        << stage;
  }
  const Imported offloaded =
      with(R"(, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}})");
  EXPECT_EQ(kind(offloaded), "adam");
  EXPECT_THAT(text::words_of(offloaded.notes),
              Contains(HasSubstr("zero_force_ds_cpu_optimizer: DeepSpeed stops")));
}

}  // namespace
}  // namespace spillway::scenarios::clipping_keys_test
