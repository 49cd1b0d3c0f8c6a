#include "scenarios/document/hub_names.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/reading/read_model.hpp"

#include <gmock/gmock.h>
#include <map>

namespace spillway::scenarios {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(HubNames, ANameOfTheHubFindsTheShippedModel) {
  EXPECT_EQ(shipped_model("Qwen/Qwen3-8B"), "qwen3-8b");
  EXPECT_EQ(shipped_model("meta-llama/Llama-3.1-8B"), "llama-3.1-8b");
  EXPECT_EQ(shipped_model("meta-llama/Llama-3.1-8B-Instruct"), "llama-3.1-8b");
  EXPECT_EQ(shipped_model("google/gemma-3-1b-it"), "gemma-3-1b");
  EXPECT_EQ(shipped_model("deepseek-ai/DeepSeek-R1"), "deepseek-v3");  // of that architecture
  EXPECT_EQ(shipped_model("Qwen3-8B"), "qwen3-8b");
}

TEST(HubNames, TheEndOfANameSaysHowItsWeightsAreQuantized) {
  for (const auto& [name, quantization] :
       std::map<std::string, std::string>{{"Qwen/Qwen3-8B-FP8", "fp8"},
                                          {"Qwen/Qwen3-8B-AWQ", "awq"},
                                          {"Qwen/Qwen3-8B-GPTQ-Int4", "gptq-int4"},
                                          {"unsloth/Qwen3-8B-unsloth-bnb-4bit", "bnb-4bit"},
                                          {"Qwen/Qwen3-8B-GGUF", "gguf"},
                                          {"RedHatAI/Qwen3-8B-FP8-dynamic", "fp8-dynamic"},
                                          {"RedHatAI/Qwen3-8B-quantized.w4a16", "quantized.w4a16"},
                                          {"Qwen/Qwen3-8B-Base", ""},
                                          {"Qwen/Qwen3-8B", ""}}) {
    EXPECT_EQ(shipped_model(name), "qwen3-8b") << name;
    EXPECT_EQ(quantization_of(name), quantization) << name;
  }
}

TEST(HubNames, AQuantizedReleaseSaysSoAsItsFileDoes) {
  const std::string note =
      "This is a release in gptq-int4; weights are counted as trained, in training.precision, "
      "unless training.method quantizes them (qlora: 4 bits).";
  const std::string name = "Qwen/Qwen3-8B-GPTQ-Int4";
  const models::Architecture quantized = read_model(name), plain = read_model("Qwen/Qwen3-8B");
  EXPECT_THAT(quantized.notes, Contains(note));
  EXPECT_EQ(quantized.hidden, plain.hidden);
  EXPECT_THAT(plain.notes, Not(Contains(HasSubstr("release"))));
}

TEST(HubNames, AnotherModelIsNotTakenForIt) {
  EXPECT_EQ(shipped_model("Qwen/Qwen3-9B"), "");
  EXPECT_EQ(shipped_model("mistralai/Mistral-7B-v0.3"), "");  // 32768 words, v0.1 has 32000
  EXPECT_EQ(shipped_model(""), "");
}

TEST(HubNames, APathIsNone) {
  EXPECT_FALSE(is_hub_name("./qwen3-8b"));
  EXPECT_FALSE(is_hub_name("/models/qwen3-8b"));
  EXPECT_FALSE(is_hub_name("a/b/c"));
  EXPECT_FALSE(is_hub_name("models/qwen3-8b.json"));
  EXPECT_TRUE(is_hub_name("Qwen/Qwen3-8B"));
}

TEST(HubNames, AModelIsReadByIt) { EXPECT_EQ(read_model("Qwen/Qwen3-0.6B").name, "qwen3-0.6b"); }

TEST(HubNames, AnUnknownNameAsksForTheFile) {
  try {
    read_model("Qwen/Qwen9-8B");
    FAIL() << "was read";
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(error.what(), HasSubstr("write the path of its config.json"));
  }
}

}  // namespace
}  // namespace spillway::scenarios
