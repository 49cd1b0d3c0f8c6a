#include "tests/hw_backend/arithmetic/executor.hpp"

#include "scenarios/description/errors.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend {
namespace {

std::vector<description::Complaint> complaints(const char* config, std::uint64_t tensor = 1,
                                               double dropout = 0) {
  models::Workload workload = small_workload();
  workload.tensor = tensor;
  workload.dropout = dropout;
  try {
    require_support(model_of(config), workload);
  } catch (const description::ScenarioError& error) {
    return error.complaints();
  }
  return {};
}

TEST(Support, DecodersRun) {
  for (const char* config : {small_llama, small_qwen, small_gpt2, small_opt, norm_last_opt,
                             small_mixtral, small_qwen2_moe, small_deepseek_v2, small_deepseek_v3})
    EXPECT_TRUE(complaints(config).empty()) << config;
}

TEST(Support, WhatDoesNotRunSaysWhy) {
  const auto bert = complaints(R"({"model_type": "bert"})");
  ASSERT_EQ(bert.size(), 1u);
  EXPECT_EQ(bert[0].message, "test has an encoder, which no device computes for real");
  EXPECT_NE(bert[0].hint.find("llama"), std::string::npos);
  EXPECT_EQ(complaints(R"({"model_type": "t5"})").size(), 1u);
  EXPECT_EQ(complaints(R"({"model_type": "opt", "word_embed_proj_dim": 64})").size(), 1u);
  EXPECT_EQ(complaints(R"({"model_type": "llama", "head_dim": 5})").size(), 1u);
}

TEST(Support, BlocksThatOnlySimulateSayWhich) {
  const auto reason = [](const char* config) {
    const auto found = complaints(config);
    return found.empty() ? std::string() : found.front().message;
  };
  EXPECT_EQ(reason(R"({"model_type": "bloom"})"),
            "test has slopes as positions (ALiBi), which no device computes for real");
  EXPECT_EQ(reason(R"({"model_type": "deepseek_v2"})"), "");
  EXPECT_EQ(reason(R"({"model_type": "deepseek_v3"})"), "");
  EXPECT_EQ(reason(R"({"model_type": "minicpm3"})"), "");
  EXPECT_EQ(reason(R"({"model_type": "qwen3_5_text"})"),
            "test has blocks of other shapes than the rest, which no device computes for real");
  for (const char* config :
       {R"({"model_type": "granitemoehybrid"})", R"({"model_type": "bamba"})",
        R"({"model_type": "falcon_h1"})", R"({"model_type": "lfm2", "full_attn_idxs": [1]})",
        R"({"model_type": "kimi_linear"})"})
    EXPECT_EQ(reason(config),
              "test has blocks of other shapes than the rest, which no device computes for real")
        << config;
  EXPECT_EQ(reason(R"({"model_type": "qwen3_5_text", "full_attention_interval": 1})"),
            "test has a gate behind attention, which no device computes for real");
  EXPECT_EQ(reason(R"({"model_type": "deepseek_v32", "n_routed_experts": 0})"),
            "test has attention to chosen tokens, which no device computes for real");
  EXPECT_EQ(reason(R"({"model_type": "gemma2", "sliding_window": null})"),
            "test has capped attention scores, which no device computes for real");
  EXPECT_EQ(reason(R"({"model_type": "phi"})"),
            "test has a bias of the vocabulary's product, which no device computes for real");
  EXPECT_EQ(reason(R"({"model_type": "olmo"})"),
            "test has norms without weights, which no device computes for real");
  EXPECT_EQ(reason(R"({"model_type": "mistral", "sliding_window": 1})"),
            "test has windows of attention shorter than training.sequence, which no device "
            "computes for real");
  EXPECT_EQ(reason(R"({"model_type": "dots1", "n_routed_experts": 8})"),
            "test has a router whose shares are neither of a softmax nor of sigmoids that add up "
            "to 1, which no device computes for real");
  EXPECT_EQ(reason(R"({"model_type": "minimax_m2"})"), "");
  // a window that hides nothing is none
  EXPECT_EQ(reason(R"({"model_type": "mistral", "sliding_window": 4096})"), "");
}

TEST(Support, WhatIsSimulatedOnlySaysWhatToWrite) {
  models::Workload workload = small_workload();
  workload.precision = description::Precision::fp8;
  description::Training dora;
  dora.method = description::Method::lora;
  dora.lora.dora = true;
  try {
    require_support(model_of(small_gpt2, dora), workload);
    ADD_FAILURE() << "8-bit products, or norms of columns, ran";
  } catch (const description::ScenarioError& error) {
    ASSERT_EQ(error.complaints().size(), 2u) << error.what();
    EXPECT_EQ(error.complaints()[0].path, "training.precision");
    EXPECT_EQ(error.complaints()[0].message, "no device multiplies in fp8 for real");
    EXPECT_EQ(error.complaints()[0].hint, "write bf16_mixed; simulate knows more");
    EXPECT_EQ(error.complaints()[1].path, "training.lora.dora");
  }
}

TEST(Support, DocumentsComputeApartWhereTheyAreWholeParts) {
  models::Workload workload = small_workload();
  workload.document = 4;
  EXPECT_NO_THROW(require_support(model_of(small_llama), workload));
  EXPECT_THROW(require_support(model_of(small_gpt2), workload), description::ScenarioError);
  workload.document = 5;
  EXPECT_THROW(require_support(model_of(small_llama), workload), description::ScenarioError);
  workload.document = 4;
  workload.attention = models::Attention::materialized;
  EXPECT_THROW(require_support(model_of(small_llama), workload), description::ScenarioError);
}

TEST(Support, RanksInARingDropNoAttentionWeights) {
  models::Workload workload = small_workload();
  workload.context = 2;
  workload.dropout = 0.1;
  EXPECT_NO_THROW(require_support(model_of(small_gpt2), workload));
  workload.context_in_ring = true;
  EXPECT_THROW(require_support(model_of(small_gpt2), workload), description::ScenarioError);
}

TEST(Support, TensorRanksRunButWhereTheyWouldMeetInsideAnOperator) {
  for (const char* config : {small_llama, small_gpt2, small_opt, norm_last_opt, small_mixtral})
    EXPECT_TRUE(complaints(config, 2).empty()) << config;
  const auto norms = complaints(R"({"model_type": "olmo2"})", 2);
  ASSERT_EQ(norms.size(), 1u);
  EXPECT_EQ(norms[0].message,
            "no device norms the queries of all tensor ranks together for real, as test does");
  EXPECT_TRUE(complaints(R"({"model_type": "olmo2"})", 1).empty());
  // 9 words: 3, 3, 3 and none
  const auto words = complaints(R"({"model_type": "llama", "hidden_size": 24,
      "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 40,
      "vocab_size": 9})",
                                4);
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0].message, "of 9 words the last of 4 ranks would have none");
}

TEST(Support, EveryReasonIsNamedAtOnce) {
  const auto found = complaints(
      R"({"model_type": "minimax_m2", "num_local_experts": 600, "num_experts_per_tok": 8})", 2,
      1.0);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].message, "test has more than 512 experts, which no device computes for real");
  EXPECT_EQ(found[1].path, "parallel.tensor");  // norms of all heads
  EXPECT_EQ(found[2].path, "training.dropout");
}

}  // namespace
}  // namespace spillway::hw_backend
