#include "scenarios/deepspeed/import_adapter.hpp"

#include <gmock/gmock.h>
#include <cmath>

#include "scenarios/description/errors.hpp"
#include "scenarios/description/scenario.hpp"

namespace spillway::scenarios {
namespace {

using description::Method;
using description::Training;
using nlohmann::json;

std::string refusal(const char* text) {
  try {
    import_adapter(parse_located(text, "adapter_config.json"));
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(ImportAdapter, ReadsWhatPeftWrites) {
  const ImportedAdapter imported = import_adapter(parse_located(R"({
      "auto_mapping": null, "base_model_name_or_path": "meta-llama/Llama-3.1-8B", "bias": "none",
      "lora_alpha": 32, "lora_dropout": 0.05, "modules_to_save": null, "peft_type": "LORA", "r": 64,
      "rank_pattern": {}, "target_modules": ["q_proj", "v_proj"], "use_rslora": false})",
                                                                "adapter_config.json"));
  Training training;
  from_json(imported.training, training);
  EXPECT_EQ(training.method, Method::lora);
  EXPECT_EQ(training.lora.rank, 64u);
  EXPECT_EQ(training.lora.scale(), 0.5);
  EXPECT_THAT(training.lora.targets, testing::ElementsAre("q_proj", "v_proj"));
  ASSERT_EQ(imported.notes.size(), 1u);
  EXPECT_THAT(words(imported.notes[0]), testing::HasSubstr("lora_dropout"));
}

TEST(ImportAdapter, HasPeftsDefaults) {
  const json plain =
      import_adapter(
          parse_located(
              R"({"peft_type": "LORA", "target_modules": "all-linear", "use_rslora": true})",
              "a.json"))
          .training;
  Training training;
  from_json(plain, training);
  EXPECT_EQ(training.lora.rank, 8u);
  EXPECT_NEAR(training.lora.scale(), 8 / std::sqrt(8.0), 1e-12);  // rsLoRA: alpha / sqrt(rank)
  EXPECT_THAT(training.lora.targets, testing::ElementsAre("all_linear"));
}

TEST(ImportAdapter, RefusesWhatIsNotDescribed) {
  EXPECT_EQ(refusal(R"({"peft_type": "IA3", "target_modules": ["k_proj"]})"),
            "adapter_config.json:1:15: peft_type: \"IA3\" is not described; \"LORA\" is what "
            "spillway describes");
  EXPECT_THAT(refusal(R"({"peft_type": "LORA", "target_modules": ".*_proj"})"),
              testing::HasSubstr("a regular expression is not described"));
  EXPECT_THAT(refusal(R"({"peft_type": "LORA"})"), testing::HasSubstr("target_modules: missing"));
  EXPECT_THAT(
      refusal(R"({"peft_type": "LORA", "target_modules": ["q_proj"], "r": 0,
                          "modules_to_save": ["lm_head"], "bias": "all"})"),
      testing::AllOf(testing::HasSubstr("r: 0 is no rank"), testing::HasSubstr("modules_to_save: "),
                     testing::HasSubstr("bias: ")));
}

// Who follows the hint has an answer that is wrong, and is to know in which direction.
TEST(ImportAdapter, SaysWhatAnAnswerWithoutAKeyLacks) {
  const auto hint = [](const std::string& key, const std::string& value) {
    const std::string text =
        R"({"peft_type": "LORA", "target_modules": ["q_proj"], ")" + key + "\": " + value + "}";
    return refusal(text.c_str());
  };
  EXPECT_THAT(hint("modules_to_save", R"(["lm_head", "embed_tokens"])"),
              testing::AllOf(testing::HasSubstr("add about 16 bytes for each of their parameters"),
                             testing::HasSubstr("time is a lower bound")));
  EXPECT_THAT(hint("rank_pattern", R"({"q_proj": 64})"),
              testing::AllOf(testing::HasSubstr("every target then has the rank r"),
                             testing::HasSubstr("too many where ranks are smaller")));
  EXPECT_THAT(hint("layers_to_transform", "[0, 1]"), testing::HasSubstr("are upper bounds"));
  EXPECT_THAT(hint("exclude_modules", R"("lm_head")"), testing::HasSubstr("are upper bounds"));
  EXPECT_THAT(hint("layer_replication", "[[0, 4], [2, 5]]"),
              testing::HasSubstr("are lower bounds"));
  EXPECT_THAT(hint("target_parameters", R"(["experts.down_proj"])"),
              testing::HasSubstr("are lower bounds"));
  EXPECT_THAT(hint("alpha_pattern", R"({"q_proj": 4})"), testing::HasSubstr("stays right"));
}

TEST(Method, IsWrittenAsItIsRead) {
  Training training;
  from_json({{"method", "qlora"}, {"lora", {{"rank", 4}, {"targets", "all_linear"}}}}, training);
  EXPECT_EQ(training.lora.base, description::BaseType::nf4);
  EXPECT_EQ(training.lora.scale(), 1);  // without alpha nothing is scaled
  description::Scenario scenario;
  scenario.training = training;
  const json written = json(scenario).at("training");
  EXPECT_EQ(written.at("lora").at("targets"), "all_linear");
  Training again;
  from_json(written, again);
  EXPECT_EQ(again.lora, training.lora);
  EXPECT_EQ(again.method, Method::qlora);
  scenario.training = Training();
  EXPECT_FALSE(json(scenario).at("training").contains("method"));  // nothing new where all is
}

}  // namespace
}  // namespace spillway::scenarios
