#include "models/architecture/model.hpp"

#include "tests/models/configs.hpp"
#include "tests/models/published.hpp"

#include <gtest/gtest.h>
#include <set>

namespace spillway::models {
namespace {

class LibraryModel : public testing::TestWithParam<Published> {};

TEST_P(LibraryModel, HasExactlyThePublishedParameters) {
  EXPECT_EQ(from_library(GetParam().name).parameters.value(), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Counts, LibraryModel,
    testing::Values(
        Published{"llama-3.1-8b", 8'030'261'248}, Published{"llama-3-70b", 70'553'706'496},
        Published{"llama-3.2-1b", 1'235'814'400}, Published{"llama-3.2-3b", 3'212'749'824},
        Published{"qwen2.5-7b", 7'615'616'512}, Published{"qwen2.5-14b", 14'770'033'664},
        Published{"qwen2.5-32b", 32'763'876'352}, Published{"granite-8b-code-base", 8'054'910'976},
        Published{"mixtral-8x7b", 46'702'792'704}, Published{"gpt2", 124'439'808},
        Published{"gpt2-xl", 1'557'611'200}, Published{"opt-13b", 12'853'473'280},
        Published{"opt-30b", 29'974'540'288}, Published{"opt-66b", 65'719'701'504},
        Published{"opt-175b", 174'604'468'224}, Published{"t5-11b", 11'307'321'344},
        Published{"bert-base", 109'482'240}, Published{"bert-large", 335'141'888},
        Published{"mlp-offload-40b", 48'163'722'240}, Published{"mlp-offload-52b", 44'278'226'944},
        Published{"mlp-offload-70b", 68'605'452'288},
        Published{"mlp-offload-100b", 105'885'147'136},
        Published{"mlp-offload-120b", 106'728'663'040}),
    test_name);

struct GptShape {
  const char* name;
  std::uint64_t layers, width;
};

class LohanModel : public testing::TestWithParam<GptShape> {};

TEST_P(LohanModel, FollowsTheCountOfItsPaper) {
  // 12 L h^2 + 13 L h + 2 h + V h + s h: per block 4 h^2 attention, 8 h^2 feed-forward, 13 h
  // biases and norms; a final norm, a tied head, learned positions
  const auto [name, layers, h] = GetParam();
  EXPECT_EQ(from_library(name).parameters.value(),
            12 * layers * h * h + 13 * layers * h + 2 * h + 50257 * h + 1024 * h);
}

INSTANTIATE_TEST_SUITE_P(
    Counts, LohanModel,
    testing::Values(GptShape{"lohan-6b", 28, 4096}, GptShape{"lohan-13b", 40, 5120},
                    GptShape{"lohan-30b", 48, 7168}, GptShape{"lohan-70b", 80, 8192},
                    GptShape{"lohan-135b", 88, 11264}, GptShape{"lohan-175b", 96, 12288},
                    GptShape{"lohan-276b", 112, 14336}, GptShape{"lohan-412b", 128, 16384}),
    [](const auto& row) { return std::to_string(row.param.layers) + "_layers"; });

TEST(Model, ATinyLlamaHasItsTensorsByHuggingFacesNames) {
  const Model model = from_config(tiny_llama);
  // embedding 100 x 64 and a head of the same size; a block: q 64 x 64, k and v 32 x 64,
  // o 64 x 64, three of 96 x 64, two norms of 64; a final norm
  const std::uint64_t block = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64 + 2 * 64;
  EXPECT_EQ(model.parameters.value(), 2 * 100 * 64 + 2 * block + 64);
  ASSERT_EQ(model.layers.size(), 4u);
  EXPECT_EQ(model.layers[0].name, "embedding");
  EXPECT_EQ(model.layers[1].name, "layers.0");
  EXPECT_EQ(model.layers[3].name, "head");
  EXPECT_TRUE(model.layers[1].is_block);
  EXPECT_FALSE(model.layers[3].is_block);
  std::vector<std::string> names;
  for (const std::uint32_t weight : model.layers[1].weights)
    names.push_back(model.weights[weight].name);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
                "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.o_proj.weight",
                "model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight",
                "model.layers.0.mlp.down_proj.weight", "model.layers.0.input_layernorm.weight",
                "model.layers.0.post_attention_layernorm.weight"}));
  EXPECT_EQ(model.weights.back().name, "lm_head.weight");
}

TEST(Model, Gpt2KeepsQueryKeyAndValueInOneMatrixWithInputsFirst) {
  const Model model = from_config(tiny_gpt2);
  const WeightTensor& fused = model.weights[model.layers[1].weights[2]];
  EXPECT_EQ(fused.name, "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(fused.shape, (std::vector<std::uint64_t>{64, 192}));
  EXPECT_TRUE(fused.decays());
  EXPECT_FALSE(model.weights[model.layers[1].weights[3]].decays());  // its bias
}

TEST(Model, ATiedHeadUsesTheEmbeddingAndHasNoTensorOfItsOwn) {
  const Model model = from_config(tiny_gpt2);
  const auto head = static_cast<std::uint32_t>(model.layers.size() - 1);
  EXPECT_EQ(model.layers[head].weights.size(), 2u);  // final norm
  const auto used = model.used_by(head);
  ASSERT_EQ(used.size(), 3u);
  EXPECT_EQ(model.weights[used[2]].name, "transformer.wte.weight");
  EXPECT_EQ(model.used_by(1), model.layers[1].weights);
}

TEST(Model, TheLargestTensorIsTheVocabularysInLlamas) {
  EXPECT_EQ(from_library("llama-3.1-8b").largest_tensor().value(), 128256u * 4096);
  // where there are few words, the feed-forward's once it is the wider: 96 < 100 < 256
  EXPECT_EQ(from_config(tiny_llama).largest_tensor().value(), 100u * 64);
  EXPECT_EQ(from_config(tiny_gpt2).largest_tensor().value(), 256u * 64);
}

TEST(Model, T5ComesEncoderFirstAndItsPositionTableOnceAStack) {
  const Model model = from_config(tiny_t5);
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"embedding", "encoder.0", "encoder.1", "encoder_norm",
                                             "layers.0", "layers.1", "head"}));
  int tables = 0;
  for (const WeightTensor& weight : model.weights) tables += weight.kind == WeightKind::positions;
  EXPECT_EQ(tables, 2);
  // every block adds its stack's table
  EXPECT_EQ(model.weights[model.used_by(2).back()].name,
            "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  EXPECT_EQ(model.weights[model.used_by(5).back()].name,
            "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  EXPECT_EQ(model.used_by(1), model.layers[1].weights);
}

TEST(Model, ANarrowEmbeddingIsProjectedInAndOut) {
  const Model model = from_config(narrow_opt);
  // words 100 x 32, positions 18 x 64, two projections 64 x 32; per block 12 h^2 + 13 h
  EXPECT_EQ(model.parameters.value(),
            100u * 32 + 18 * 64 + 2 * 64 * 32 + 2 * (12 * 64 * 64 + 13 * 64));
}

TEST(Model, EveryWeightHasItsOwnNameAndStandsInItsLayerOnce) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, tiny_mixtral, narrow_opt}) {
    const Model model = from_config(config);
    std::set<std::string> names;
    Params sum;
    std::uint32_t next = 0;
    for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer)
      for (const std::uint32_t index : model.layers[layer].weights) {
        EXPECT_EQ(index, next++);
        EXPECT_EQ(model.weights[index].layer, layer);
        EXPECT_TRUE(names.insert(model.weights[index].name).second) << model.weights[index].name;
        sum += model.weights[index].parameters;
      }
    EXPECT_EQ(next, model.weights.size());
    EXPECT_EQ(sum, model.parameters);
  }
}

TEST(Model, OnlyGpt2StoresInputsFirst) {
  const Model gpt2 = from_config(tiny_gpt2);
  const Model llama = from_config(tiny_llama);
  for (const WeightTensor& weight : gpt2.weights)
    if (weight.kind == WeightKind::query) {
      EXPECT_TRUE(weight.inputs_first);  // [64, 3 x 64]
      EXPECT_EQ(weight.shape, (std::vector<std::uint64_t>{64, 192}));
    }
  EXPECT_FALSE(gpt2.weights.front().inputs_first);  // the tied head: [words, width]
  for (const WeightTensor& weight : llama.weights) EXPECT_FALSE(weight.inputs_first);
}

TEST(Model, TinyLlamaHasAMillionParameters) {
  // 2 Vh + L (2 h^2 + 2 h kv + 3 h f + 2 h) + h of h 128, kv 64, f 352, V 1024, L 4
  EXPECT_EQ(from_library("tiny-llama").parameters.value(),
            2u * 1024 * 128 + 4 * (2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 352 + 2 * 128) + 128);
}

TEST(Model, EncodersWithoutTypesOrWithOtherPositionsCountWhatTheyPublish) {
  // distilbert-base-uncased 66,362,880; roberta-base 124,645,632 with its pooler, 514 positions
  EXPECT_EQ(from_config(R"({"model_type": "distilbert"})").parameters.value(), 66'362'880u);
  EXPECT_EQ(from_config(R"({"model_type": "roberta", "vocab_size": 50265, "type_vocab_size": 1,
      "max_position_embeddings": 514})")
                .parameters.value(),
            124'645'632u);
}

TEST(Model, AnUntiedT5HasAHead) {
  const Model model = from_config(R"({"model_type": "t5", "tie_word_embeddings": false,
      "feed_forward_proj": "gated-gelu"})");
  EXPECT_EQ(model.weights.back().kind, WeightKind::lm_head);
  EXPECT_STREQ(to_string(model.weights.back().kind), "lm_head");
}

}  // namespace
}  // namespace spillway::models
