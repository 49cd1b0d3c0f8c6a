#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "tests/reports/text/words_of.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/test_systems.hpp"

namespace spillway::scenarios::import_wrapper_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string brain = R"("bf16": {"enabled": true})";
const std::string wide = R"(, "data_types": {"grad_accum_dtype": "fp32"})";
const std::string narrow = R"(, "data_types": {"grad_accum_dtype": "bfloat16"})";

/// gpt2 on the two GPUs of memascend_c1.
Imported import(const std::string& keys, const std::string& version = "") {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  options.deepspeed = version;
  return import_deepspeed(parse_hjson("{" + keys + "}", "ds.json"), options);
}
std::string refused(const std::string& keys, const std::string& version = "") {
  return complaints_of([&] { import(keys, version); });
}

/// Masters and states are shared, and fp32 gradients of all weights are there.
bool by_bf16_optimizer(const Imported& imported) {
  const json& gradients = imported.scenario.at("strategy").at("gradients");
  const bool main = gradients.value("main_gradients", false);
  EXPECT_EQ(main, imported.scenario.at("parallel").at("zero_stage") == 1);
  EXPECT_EQ(gradients.at("accumulation"), main ? "fp32" : "fp16");
  return main;
}

TEST(ImportDeepSpeed, SharesStatesOfBf16WithoutZeroAsItsVersionDoes) {
  const std::string stage_0 = brain + R"(, "zero_optimization": {"stage": 0})";
  for (const std::string& keys : {brain, stage_0})
    for (const char* version : {"0.9.3", "0.16", "0.17.5"}) {
      EXPECT_TRUE(by_bf16_optimizer(import(keys, version))) << version;
      EXPECT_TRUE(by_bf16_optimizer(import(keys + wide, version))) << version;
      EXPECT_THAT(text::words_of(import(keys, version).notes),
                  Contains(HasSubstr("zero_optimization.stage: taken as 1: without ZeRO bf16 "
                                     "weights have BF16_Optimizer until 0.17.5")));
    }
  for (const char* version : {"0.17.6", "0.18", "0.19"}) {
    EXPECT_FALSE(by_bf16_optimizer(import(brain, version))) << version;
    EXPECT_FALSE(by_bf16_optimizer(import(stage_0 + narrow, version))) << version;
  }
  EXPECT_THAT(
      text::words_of(import(brain).notes),
      AllOf(Contains(HasSubstr("each GPU has all masters and states since 0.17.6; until then")),
            Contains(HasSubstr("not counted, so GPU memory is a lower bound"))));
  EXPECT_TRUE(by_bf16_optimizer(import(brain + wide, "0.18.4")));
  // its gradients are all-reduced whole, whatever a stage would have
  EXPECT_FALSE(import(stage_0, "0.16").scenario["strategy"]["gradients"].contains("collective"));
}

TEST(ImportDeepSpeed, RefusesTypesAtWhichDeepSpeedStopsWithoutZero) {
  EXPECT_THAT(refused(brain + wide),
              AllOf(HasSubstr("DeepSpeed stops at fp32 gradients of bf16 weights without ZeRO, "
                              "since 0.18.5"),
                    HasSubstr("set zero_optimization.stage to 1")));
  EXPECT_THAT(refused(brain + narrow, "0.17.5"),
              HasSubstr("DeepSpeed stops at bf16 gradients without ZeRO until 0.17.5"));
  EXPECT_THAT(refused(R"("fp16": {"enabled": true})" + wide, "0.16"),
              HasSubstr("DeepSpeed stops at fp32 gradients of fp16 weights without ZeRO"));
}

TEST(ImportDeepSpeed, SaysWhatAnUpdateWithoutZeroCopies) {
  const auto says = Contains(HasSubstr("without ZeRO the update first copies all gradients"));
  EXPECT_THAT(text::words_of(import(R"("fp16": {"enabled": true})", "0.16").notes), says);
  EXPECT_THAT(text::words_of(import("").notes), Not(says));  // PyTorch's own, in fp32
  EXPECT_THAT(text::words_of(import(brain + R"(, "zero_optimization": {"stage": 1})").notes),
              Not(says));
}

TEST(ExportDeepSpeed, GivesAScenarioOfBf16OptimizerAgain) {
  for (const char* version : {"0.16", "0.19"}) {
    Imported first = import(brain, "0.16");
    first.scenario["training"]["sequence"] = 64;
    const auto asked = read_scenario(first.scenario, {}, test_systems()).scenario;
    ExportOptions options;
    options.deepspeed = version;
    const Exported exported = export_deepspeed(asked, test_systems(), options);
    EXPECT_EQ(exported.ds_config["zero_optimization"]["stage"], 1);
    EXPECT_EQ(exported.ds_config["data_types"]["grad_accum_dtype"], "fp32");
    EXPECT_EQ(exported.version.text(), version);
  }
}

// A file that DeepSpeed stops at was written before.
TEST(ExportDeepSpeed, WithoutZeroWritesGradientsOfTheWeightsType) {
  const auto type = [](const std::string& training, const std::string& version = "") {
    const std::string scenario =
        R"({"model": "gpt2", "machine": "memascend_c1", "parallel": {"data": 2, "zero_stage": 0},
            "strategy": {"system": "resident", "gradients": {"accumulation": "fp32"}},
            "training": {"micro_batch": 1, "sequence": 64, )" +
        training + "}}";
    ExportOptions options;
    options.nearest = true;
    options.deepspeed = version;
    return export_deepspeed(
               read_scenario(parse_located(scenario, "a.json"), {}, test_systems()).scenario,
               test_systems(), options)
        .ds_config["data_types"]["grad_accum_dtype"];
  };
  EXPECT_EQ(type(R"("precision": "bf16_mixed")"), "bf16");
  EXPECT_EQ(type(R"("precision": "fp16_mixed")"), "fp16");
  EXPECT_EQ(type(R"("precision": "bf16_mixed")", "0.16"), "fp32");  // and import says what it is
}

}  // namespace
}  // namespace spillway::scenarios::import_wrapper_test
