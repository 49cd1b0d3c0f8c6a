#include "models/architecture/architecture.hpp"

#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"

#include <gmock/gmock.h>

namespace spillway::models {
namespace {

using description::Complaint;
using description::ScenarioError;
using testing::HasSubstr;

Architecture read(const char* json) {
  return read_architecture(nlohmann::json::parse(json), "test", "test.json");
}

std::vector<Complaint> complaints(const char* json) {
  try {
    read(json);
  } catch (const ScenarioError& error) {
    return error.complaints();
  }
  return {};
}

TEST(Architecture, LlamaReadsItsKeysAndDividesTheWidthIntoHeads) {
  const Architecture a = read(tiny_llama);
  EXPECT_EQ(a.hidden, 64u);
  EXPECT_EQ(a.head_dim, 16u);  // 64 / 4
  EXPECT_EQ(a.query_width(), 64u);
  EXPECT_EQ(a.kv_width(), 32u);  // 2 KV heads of 16
  EXPECT_TRUE(a.gated_ffn);
  EXPECT_FALSE(a.tied_embeddings);
  EXPECT_FALSE(a.layer_norm);
  EXPECT_EQ(a.embedding_width, 64u);
}

TEST(Architecture, HeadDimMayDifferFromWidthOverHeads) {
  const Architecture a = read(R"({"model_type": "mistral", "hidden_size": 5120,
      "num_attention_heads": 32, "head_dim": 128})");
  EXPECT_EQ(a.query_width(), 4096u);
}

TEST(Architecture, AMissingOrNullKeyTakesTheDefaultOfItsType) {
  EXPECT_EQ(read(R"({"model_type": "llama"})").kv_heads, 32u);  // as many as heads
  EXPECT_EQ(read(R"({"model_type": "llama", "num_attention_heads": 16})").kv_heads, 16u);
  EXPECT_EQ(read(R"({"model_type": "mistral"})").kv_heads, 8u);
  EXPECT_EQ(read(R"({"model_type": "gpt2", "n_inner": null})").ffn, 4u * 768);
  EXPECT_EQ(read(R"({"model_type": "gpt2", "n_inner": 100})").ffn, 100u);
  EXPECT_EQ(read(R"({"model_type": "opt"})").learned_positions, 2050u);
  EXPECT_EQ(read(R"({"model_type": "mixtral"})").experts, 8u);
  EXPECT_EQ(read(R"({"model_type": "t5", "num_layers": 3})").layers, 3u);
  EXPECT_TRUE(read(R"({"model_type": "t5"})").tied_embeddings);
  EXPECT_FALSE(read(R"({"model_type": "granite"})").tied_embeddings);
  EXPECT_TRUE(read(R"({"model_type": "bert"})").pooler);
}

TEST(Architecture, Qwen2HasAQkvBiasThatNoKeyNames) {
  const Architecture a = read(R"({"model_type": "qwen2", "attention_bias": false})");
  EXPECT_TRUE(a.qkv_bias);
  EXPECT_FALSE(a.attention_output_bias);
}

TEST(Architecture, T5IsGatedWhenItsProjectionSaysSo) {
  EXPECT_FALSE(read(R"({"model_type": "t5"})").gated_ffn);
  EXPECT_TRUE(read(R"({"model_type": "t5", "feed_forward_proj": "gated-gelu"})").gated_ffn);
}

TEST(Architecture, ActivationsComeFromTheKeyOrTheDefaultOfTheType) {
  EXPECT_EQ(read(tiny_llama).activation, Activation::silu);
  EXPECT_EQ(read(R"({"model_type": "qwen2", "hidden_act": "gelu"})").activation, Activation::gelu);
  EXPECT_EQ(read(R"({"model_type": "gpt2"})").activation, Activation::gelu_tanh);
  EXPECT_EQ(read(R"({"model_type": "gpt2", "activation_function": "relu"})").activation,
            Activation::relu);
  EXPECT_EQ(read(R"({"model_type": "opt"})").activation, Activation::relu);
  EXPECT_EQ(read(R"({"model_type": "bert"})").activation, Activation::gelu);
  EXPECT_EQ(read(R"({"model_type": "t5"})").activation, Activation::relu);
  EXPECT_EQ(read(R"({"model_type": "t5", "feed_forward_proj": "gated-gelu"})").activation,
            Activation::gelu_tanh);
}

TEST(Architecture, AnUnknownActivationListsTheKnownOnes) {
  const auto found = complaints(R"({"model_type": "llama", "hidden_act": "glue"})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "hidden_act");
  EXPECT_EQ(found[0].message, "no activation \"glue\"");
  EXPECT_THAT(found[0].hint, HasSubstr("silu, swish, gelu"));
}

TEST(Architecture, NormEpsilonAndRopeThetaComeFromTheKeyOrTheDefaultOfTheType) {
  EXPECT_EQ(read(tiny_llama).norm_epsilon, 1e-6);
  EXPECT_EQ(read(tiny_llama).rope_theta, 1e4);
  const Architecture a =
      read(R"({"model_type": "llama", "rms_norm_eps": 1e-05, "rope_theta": 500000})");
  EXPECT_EQ(a.norm_epsilon, 1e-5);
  EXPECT_EQ(a.rope_theta, 5e5);
  EXPECT_EQ(read(R"({"model_type": "mixtral"})").norm_epsilon, 1e-5);
  EXPECT_EQ(read(R"({"model_type": "mixtral"})").rope_theta, 1e6);
  EXPECT_EQ(read(R"({"model_type": "gpt2"})").norm_epsilon, 1e-5);
  EXPECT_EQ(read(R"({"model_type": "opt"})").norm_epsilon, 1e-5);
  EXPECT_EQ(read(R"({"model_type": "bert"})").norm_epsilon, 1e-12);
  EXPECT_EQ(complaints(R"({"model_type": "llama", "rms_norm_eps": 0})").size(), 1u);
  EXPECT_EQ(complaints(R"({"model_type": "llama", "rope_theta": "10000"})").size(), 1u);
}

TEST(Architecture, OptKeepsTwoRowsBeforeItsPositions) {
  EXPECT_EQ(read(R"({"model_type": "opt"})").position_offset, 2u);
  EXPECT_EQ(read(R"({"model_type": "gpt2"})").position_offset, 0u);
}

TEST(Architecture, AnUnknownKeyIsIgnored) {
  EXPECT_EQ(read(R"({"model_type": "gpt2", "summary_type": "cls_index"})").hidden, 768u);
}

TEST(Architecture, AnUnknownTypeListsTheKnownOnesAndTheNearest) {
  const auto found = complaints(R"({"model_type": "lama"})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].file, "test.json");
  EXPECT_EQ(found[0].path, "model_type");
  EXPECT_THAT(found[0].hint, HasSubstr("did you mean \"llama\"?"));
  for (const std::string& type : known_model_types()) EXPECT_THAT(found[0].hint, HasSubstr(type));
}

TEST(Architecture, AMissingTypeIsAnError) {
  const auto found = complaints("{}");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "missing");
}

TEST(Architecture, EveryMistakeIsReportedAtOnce) {
  const auto found = complaints(R"({"model_type": "llama", "hidden_size": "4096",
      "num_hidden_layers": 0, "vocab_size": -1, "intermediate_size": 1.5,
      "tie_word_embeddings": 1})");
  ASSERT_EQ(found.size(), 5u);
  std::vector<std::string> paths;
  for (const Complaint& complaint : found) paths.push_back(complaint.path);
  EXPECT_THAT(paths, testing::UnorderedElementsAre("hidden_size", "num_hidden_layers", "vocab_size",
                                                   "intermediate_size", "tie_word_embeddings"));
}

TEST(Architecture, HeadsMustDivideTheWidthAndKvHeadsTheHeads) {
  const auto found = complaints(R"({"model_type": "llama", "hidden_size": 100,
      "num_attention_heads": 8, "num_key_value_heads": 3})");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "num_attention_heads");
  EXPECT_EQ(found[1].path, "num_key_value_heads");
}

TEST(Architecture, MoreExpertsATokenThanThereAreIsAnError) {
  const auto found =
      complaints(R"({"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "num_experts_per_tok");
  EXPECT_NO_THROW(
      read(R"({"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 2})"));
}

TEST(Architecture, SizesThatWouldOverflowAreRefused) {
  EXPECT_FALSE(complaints(R"({"model_type": "gpt2", "n_embd": 2147483648, "n_head": 1,
      "n_layer": 2147483648})")
                   .empty());
  EXPECT_FALSE(complaints(R"({"model_type": "gpt2", "n_layer": 2147483648})").empty());
  EXPECT_FALSE(complaints(R"({"model_type": "gpt2", "n_embd": 99999999999})").empty());
}

TEST(Architecture, AConfigThatIsNoObjectIsAnError) {
  EXPECT_EQ(complaints("[]").size(), 1u);
  EXPECT_EQ(complaints("null").size(), 1u);
}

}  // namespace
}  // namespace spillway::models
