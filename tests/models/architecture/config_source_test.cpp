#include "models/architecture/architecture.hpp"

#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"

#include <gmock/gmock.h>

namespace spillway::models::config_source_test {
namespace {

using description::Complaint;
using description::ScenarioError;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Architecture read(const char* json) {
  return read_architecture(nlohmann::json::parse(json), "test", "test.json");
}

Complaint refusal(const char* json) {
  try {
    read(json);
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.complaints().size(), 1u);
    return error.complaints().front();
  }
  ADD_FAILURE() << "was read: " << json;
  return {};
}

constexpr const char* gemma_with_tower = R"({"model_type": "gemma3",
    "tie_word_embeddings": false, "text_config": {"model_type": "gemma3_text", "hidden_size": 64,
    "num_hidden_layers": 6, "intermediate_size": 96, "sliding_window": 8},
    "vision_config": {"model_type": "siglip_vision_model"}})";

TEST(ConfigSource, AMultimodalFileIsReadAsItsLanguageModelAlone) {
  const Architecture a = read(gemma_with_tower);
  EXPECT_EQ(a.model_type, "gemma3_text");
  EXPECT_EQ(a.hidden, 64u);
  EXPECT_EQ(a.heads, 8u);           // the default of its type
  EXPECT_FALSE(a.tied_embeddings);  // the file says so outside text_config
  EXPECT_EQ(a.block(0).window, 8u);
  EXPECT_EQ(a.block(5).window, 0u);  // every sixth
  EXPECT_THAT(a.notes,
              Contains("The language model alone (text_config); what vision_config describes is "
                       "left out."));
}

TEST(ConfigSource, AMultimodalTypeWithoutAnInnerOneHasTheOuterLanguageModel) {
  EXPECT_EQ(read(R"({"model_type": "llava", "text_config": {"hidden_size": 64,
      "num_attention_heads": 4}})")
                .model_type,
            "llama");
  EXPECT_EQ(read(R"({"model_type": "qwen2_vl", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "vision_config": {}})")
                .model_type,
            "qwen2");
}

TEST(ConfigSource, BlocksThatAttendToAnImageAreLeftOutAndSaid) {
  // Llama 3.2 11B Vision: 40 blocks, 8 of them for images; its text is Llama 3.1 8B
  const Architecture a = read(R"({"model_type": "mllama", "text_config": {
      "model_type": "mllama_text_model", "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]},
      "vision_config": {}})");
  EXPECT_EQ(a.layers, 32u);
  EXPECT_EQ(build_model(a).parameters.value(), 8'030'261'248u);
  ASSERT_GE(a.notes.size(), 2u);
  EXPECT_THAT(a.notes[1], HasSubstr("8 blocks that attend to an image"));
}

TEST(ConfigSource, WhatABlockCannotHaveIsNamedByItsKey) {
  EXPECT_EQ(refusal(R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text",
      "head_dim": 256, "num_kv_shared_layers": 2}})")
                .path,
            "text_config.num_kv_shared_layers");
}

TEST(ConfigSource, AMistakeInsideIsNamedByItsPath) {
  EXPECT_EQ(refusal(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
      "hidden_size": -1}})")
                .path,
            "text_config.hidden_size");
}

TEST(ConfigSource, WithoutATypeTheArchitecturesDecide) {
  const Architecture a = read(R"({"architectures": ["Qwen3MoeForCausalLM"]})");
  EXPECT_EQ(a.model_type, "qwen3_moe");
  EXPECT_THAT(a.notes, Contains("Without a model_type: read as qwen3_moe, by its architectures."));
  EXPECT_EQ(read(R"({"model_type": "tuned", "architectures": ["LlamaForCausalLM"]})").model_type,
            "llama");
}

TEST(ConfigSource, WithoutEitherTheKeysDecide) {
  const Architecture a = read(R"({"hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "intermediate_size": 96, "rms_norm_eps": 1e-5})");
  EXPECT_EQ(a.model_type, "llama");
  EXPECT_THAT(a.notes, Contains("Without a model_type: read as llama, by its keys."));
  EXPECT_EQ(read(R"({"n_embd": 64, "n_layer": 2, "n_head": 4})").model_type, "gpt2");
}

TEST(ConfigSource, AQuantizedReleaseIsReadByItsArchitectureAndSaysSo) {
  const Architecture a =
      read(R"({"model_type": "llama", "quantization_config": {"quant_method": "awq"}})");
  EXPECT_THAT(a.notes, Contains("This is a release in awq; weights are counted as "
                                "trained, in training.precision, unless training.method quantizes "
                                "them (qlora: 4 bits)."));
}

TEST(ConfigSource, PredictionHeadsAreLeftOutAndSaid) {
  const Architecture a = read(R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1})");
  EXPECT_THAT(a.notes, Contains("1 layer for multi-token prediction is left out "
                                "(num_nextn_predict_layers), as Hugging Face's model does."));
}

TEST(ConfigSource, ABlockThatCannotBeDescribedIsNamedByItsKey) {
  const Complaint hybrid = refusal(R"({"model_type": "minimax", "layer_types":
      ["full_attention", "linear_attention"]})");
  EXPECT_EQ(hybrid.path, "layer_types");
  EXPECT_THAT(hybrid.message, HasSubstr("linear attention"));
  const Complaint mamba = refusal(R"({"model_type": "mamba2"})");
  EXPECT_EQ(mamba.path, "model_type");
  EXPECT_THAT(mamba.message, HasSubstr("state-space"));
  const Complaint inner = refusal(R"({"model_type": "any", "text_config": {"index_topk": 2048}})");
  EXPECT_EQ(inner.path, "text_config.index_topk");
  EXPECT_THAT(refusal(R"({"model_type": "whisper"})").message, HasSubstr("no language model"));
}

TEST(ConfigSource, AnUnknownTypeNamesTheNearOneAndWhatThatWouldMiss) {
  const Complaint unknown = refusal(R"({"model_type": "marvel", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
      "rms_norm_eps": 1e-5, "memory_slots": 7, "bos_token_id": 1})");
  EXPECT_EQ(unknown.path, "model_type");
  EXPECT_THAT(unknown.hint, HasSubstr("like those of llama"));
  EXPECT_THAT(unknown.hint, HasSubstr("without what memory_slots stand for"));
  EXPECT_THAT(unknown.hint, Not(HasSubstr("did you mean")));
}

TEST(ConfigSource, OnlyASlipOfOneLetterIsTakenForATypingMistake) {
  EXPECT_THAT(refusal(R"({"model_type": "lama"})").hint, HasSubstr("did you mean \"llama\"?"));
  EXPECT_THAT(refusal(R"({"model_type": "mistrel"})").hint, HasSubstr("did you mean \"mistral\""));
  // another generation or another family
  for (const char* type : {"qwen4", "gla", "albert", "olmo9", "phi4mmx"})
    EXPECT_THAT(refusal((std::string(R"({"model_type": ")") + type + "\"}").c_str()).hint,
                Not(HasSubstr("did you mean")))
        << type;
}

TEST(ConfigSource, SizesThatTheFileLacksAreSaidWithWhatIsTaken) {
  const Architecture a = read(R"({"model_type": "llama", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 4})");
  EXPECT_EQ(a.vocabulary, 32000u);
  EXPECT_THAT(read(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
      "intermediate_size": 96, "vocab_size": 100})")
                  .notes,
              ElementsAre("Not in the file: num_attention_heads (32 is taken), as llama has it in "
                          "transformers."));
  EXPECT_THAT(
      a.notes,
      ElementsAre("Not in the file: intermediate_size (11008 is taken), vocab_size (32000 is "
                  "taken), as llama has it in transformers."));
}

TEST(ConfigSource, AMisspeltKeyIsRefusedWithTheOneThatWasMeant) {
  const Complaint hidden = refusal(R"({"model_type": "llama", "hiden_size": 512})");
  EXPECT_EQ(hidden.path, "hiden_size");
  EXPECT_EQ(hidden.message, "no such key");
  EXPECT_EQ(hidden.hint, "did you mean \"hidden_size\"?");
  EXPECT_THAT(refusal(R"({"model_type": "llama", "num_hiden_layer": 4})").hint,
              HasSubstr("num_hidden_layers"));
  EXPECT_THAT(refusal(R"({"model_type": "llama", "Vocab-Size": 4})").hint, HasSubstr("vocab_size"));
  EXPECT_THAT(refusal(R"({"model_type": "gpt2", "n_embed": 64})").hint, HasSubstr("n_embd"));
  EXPECT_THAT(refusal(R"({"model_type": "gpt2", "n_haed": 4})").hint, HasSubstr("n_head"));
  EXPECT_EQ(refusal(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
      "hidden_sizes": 64}})")
                .path,
            "text_config.hidden_sizes");
  EXPECT_EQ(refusal(R"({"model_type": "dbrx", "ffn_config": {"moe_num_expert": 4}})").path,
            "ffn_config.moe_num_expert");
}

TEST(ConfigSource, KeysThatAreFarFromThoseAskedForAreNoSlips) {
  // the first has both, the second means nothing here, the others are keys of other types
  for (const char* more :
       {R"("hiden_size": 64)", R"("num_hidden_layer": null)", R"("v_head_dim": 16)",
        R"("num_heads": 4)", R"("n_shared_experts": 1)", R"("mup_width": 2)", R"("rope_ratio": 1)"})
    EXPECT_NO_THROW(read((std::string(R"({"model_type": "llama", "hidden_size": 64,
        "num_attention_heads": 4, )") +
                          more + "}")
                             .c_str()))
        << more;
}

TEST(ConfigSource, TakesTheCommonNamesWhereTransformersTakesThem) {
  const Architecture a = read(R"({"model_type": "gpt2", "hidden_size": 64, "num_hidden_layers": 3,
      "num_attention_heads": 4, "vocab_size": 100})");
  EXPECT_EQ(a.hidden, 64u);
  EXPECT_EQ(a.layers, 3u);
  EXPECT_EQ(a.heads, 4u);
  EXPECT_THAT(a.notes, ElementsAre());
}

TEST(ConfigSource, AWrongNumberIsOneComplaint) {
  EXPECT_EQ(
      refusal(R"({"model_type": "llama", "hidden_size": -768, "num_attention_heads": 12})").path,
      "hidden_size");
}

TEST(ConfigSource, MetasOwnFileIsNamedWithWhereToFindTheOther) {
  const Complaint complaint = refusal(R"({"dim": 4096, "multiple_of": 256, "n_heads": 32,
      "n_layers": 32, "norm_eps": 1e-05, "vocab_size": -1})");
  EXPECT_THAT(complaint.message, HasSubstr("params.json"));
  EXPECT_THAT(complaint.hint, HasSubstr("config.json"));
}

TEST(ConfigSource, AbsurdValuesAreComplaints) {
  for (const char* json : {R"({"model_type": 7})", R"({"model_type": "gemma3", "text_config": 3})",
                           R"({"model_type": "qwen3", "num_hidden_layers": 2147483648})",
                           R"({"model_type": "gemma2", "num_hidden_layers": 2147483647})",
                           R"({"model_type": "deepseek_v3", "n_routed_experts": 2147483648})",
                           R"({"model_type": "deepseek_v3", "kv_lora_rank": 0})",
                           R"({"model_type": "gpt_oss", "layer_types": ["sliding_attention"]})",
                           R"({"model_type": "gpt_oss", "layer_types": 4})",
                           R"({"model_type": "dbrx", "attn_config": []})",
                           R"({"model_type": "chatglm", "position_encoding_2d": true})",
                           R"({"model_type": "qwen", "intermediate_size": 1})",
                           R"({"model_type": "gptj", "tie_word_embeddings": true})",
                           R"({"model_type": "phi", "partial_rotary_factor": 2})",
                           R"({"model_type": "roberta", "max_position_embeddings": 2})",
                           R"({"model_type": "gemma2", "attn_logit_softcapping": -1})",
                           R"({"architectures": [3]})", R"({"architectures": "LlamaForCausalLM"})"})
    EXPECT_THROW(read(json), ScenarioError) << json;
}

}  // namespace
}  // namespace spillway::models::config_source_test
