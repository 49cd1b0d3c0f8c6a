#include "scenarios/hub_names.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/read_model.hpp"

#include <gmock/gmock.h>

namespace spillway::scenarios {
namespace {

using testing::HasSubstr;

TEST(HubNames, ANameOfTheHubFindsTheShippedModel) {
  EXPECT_EQ(shipped_model("Qwen/Qwen3-8B"), "qwen3-8b");
  EXPECT_EQ(shipped_model("meta-llama/Llama-3.1-8B"), "llama-3.1-8b");
  EXPECT_EQ(shipped_model("meta-llama/Llama-3.1-8B-Instruct"), "llama-3.1-8b");
  EXPECT_EQ(shipped_model("google/gemma-3-1b-it"), "gemma-3-1b");
  EXPECT_EQ(shipped_model("deepseek-ai/DeepSeek-R1"), "deepseek-v3");  // of that architecture
  EXPECT_EQ(shipped_model("Qwen3-8B"), "qwen3-8b");
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
