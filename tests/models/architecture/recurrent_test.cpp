#include "models/architecture/adapters.hpp"
#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace spillway::models::recurrent_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

// 2 samples of 16 tokens, 16-bit; h 64.
constexpr std::uint64_t tokens = 32;

Workload workload() {
  Workload w;
  w.micro_batch = 2;
  w.sequence = 16;
  return w;
}

Model tiny_model(const char* type) { return from_config(config_of(type)); }
nlohmann::json tiny(const char* type) { return nlohmann::json::parse(config_of(type)); }

std::uint64_t parameters_of(const Model& model, std::uint32_t layer) {
  std::uint64_t sum = 0;
  for (const std::uint32_t weight : model.layers[layer].weights)
    sum += model.weights[weight].parameters.value();
  return sum;
}

double forward_flops(const Model& model, std::uint32_t layer) {
  const StepProgram program = build_step_program(model, workload());
  return program.flops(program.layers[layer].forward).value();
}

/// What a layer saves, a token, of elements of `bytes`.
std::uint64_t saved(const Model& model, std::uint32_t layer, std::uint64_t bytes) {
  const StepProgram program = build_step_program(model, workload());
  std::uint64_t elements = 0;
  for (const TensorId id : program.saved_by(layer))
    if (program.tensors[id].bytes.value() == bytes * program.tensors[id].elements)
      elements += program.tensors[id].elements;
  EXPECT_EQ(elements % tokens, 0u);
  return elements / tokens;
}

std::set<std::string> names_of_weights(const Model& model) {
  std::set<std::string> names;
  for (const WeightTensor& weight : model.weights) names.insert(weight.name);
  return names;
}

std::vector<std::uint64_t> shape_of(const Model& model, const std::string& name) {
  for (const WeightTensor& weight : model.weights)
    if (weight.name == name) return weight.shape;
  ADD_FAILURE() << "no " << name;
  return {};
}

std::string refusal(const nlohmann::json& json) {
  try {
    from_config(json.dump().c_str());
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

/// Names of the modules that have adapters, of the first block and the second.
std::set<std::string> adapted(const char* type, const char* targets) {
  description::Training training;
  training.method = description::Method::lora;
  training.lora.targets = {targets};
  const Model model = as_trained(tiny_model(type), training);
  std::set<std::string> names;
  for (const WeightTensor& weight : model.weights)
    if (weight.adapter) names.insert(weight.name.substr(0, weight.name.rfind('.')));
  return names;
}

// ---- Granite 4

// a state space of 8 heads of 16, 2 groups of 8 states: mixed 128 + 2 x 16, gate 128, rates 8;
// kernels of 4 with bias, 3 numbers a head, norm, out
constexpr std::uint64_t mamba = 64 * (160 + 128 + 8) + 160 * 5 + 3 * 8 + 128 + 128 * 64;
constexpr std::uint64_t attention = 2 * 64 * 64 + 2 * 64 * 32;

TEST(GraniteHybrid, HasExpertsAndASharedOneInEveryBlock) {
  // a router, 4 experts of 32, a shared one of 48, two norms
  const std::uint64_t rest = 64 * 4 + 4 * 3 * 64 * 32 + 3 * 64 * 48 + 2 * 64;
  const Model model = tiny_model("granitemoehybrid");
  EXPECT_EQ(parameters_of(model, 1), mamba + rest);
  EXPECT_EQ(parameters_of(model, 2), attention + rest);
  EXPECT_EQ(model.parameters.value() - model.active_parameters.value(), 2u * 2 * 3 * 64 * 32);
}

TEST(GraniteHybrid, NamesItsTensorsAsTransformersDoes) {
  const Model model = tiny_model("granitemoehybrid");
  EXPECT_THAT(
      names_of_weights(model),
      IsSupersetOf({"model.layers.0.mamba.A_log", "model.layers.0.mamba.D",
                    "model.layers.0.mamba.dt_bias", "model.layers.0.mamba.conv1d.weight",
                    "model.layers.0.mamba.conv1d.bias", "model.layers.0.mamba.norm.weight",
                    "model.layers.0.mamba.in_proj.weight", "model.layers.0.mamba.out_proj.weight",
                    "model.layers.1.self_attn.o_proj.weight",
                    "model.layers.1.block_sparse_moe.router.layer.weight",
                    "model.layers.1.post_attention_layernorm.weight", "model.norm.weight"}));
  EXPECT_THAT(shape_of(model, "model.layers.0.block_sparse_moe.input_linear.weight"),
              ElementsAre(4, 64, 64));
  EXPECT_THAT(shape_of(model, "model.layers.0.block_sparse_moe.output_linear.weight"),
              ElementsAre(4, 64, 32));
  EXPECT_THAT(shape_of(model, "model.layers.0.shared_mlp.input_linear.weight"),
              ElementsAre(96, 64));
  EXPECT_THAT(shape_of(model, "model.layers.0.shared_mlp.output_linear.weight"),
              ElementsAre(64, 48));
}

TEST(GraniteHybrid, WithoutExpertsFeedsAllThroughItsSharedPart) {
  const Model model = tiny_model("granitemoehybrid_dense");
  EXPECT_EQ(parameters_of(model, 1), attention + 3 * 64 * 96 + 2 * 64);
  EXPECT_THAT(shape_of(model, "model.layers.1.shared_mlp.input_linear.weight"),
              ElementsAre(192, 64));
  EXPECT_EQ(model.architecture.experts, 0u);
  EXPECT_TRUE(model.architecture.block(0).rotary);
  // without blocks that have one, its sizes do no harm
  Workload two = workload();
  two.tensor = 2;
  EXPECT_NO_THROW(check(build_step_program(model, two)));
}

TEST(GraniteHybrid, RotatesWhereTheFileSaysSoAlone) {
  EXPECT_FALSE(tiny_model("granitemoehybrid").architecture.block(1).rotary);
  nlohmann::json json = tiny("granitemoehybrid");
  json["position_embedding_type"] = nullptr;
  EXPECT_EQ(refusal(json), "");
  json["position_embedding_type"] = "alibi";
  EXPECT_THAT(refusal(json), HasSubstr("position_embedding_type"));
}

TEST(GraniteHybrid, WithoutAListHasStateSpacesAlone) {
  nlohmann::json json = tiny("granitemoehybrid");
  json.erase("layer_types");
  const Model model = from_config(json.dump().c_str());
  EXPECT_EQ(parameters_of(model, 1), parameters_of(model, 2));
  json["layers_block_type"] = {"linear_attention", "full_attention"};
  EXPECT_EQ(from_config(json.dump().c_str()).parameters, tiny_model("granitemoehybrid").parameters);
}

TEST(GraniteHybrid, IsRefusedByTheKeyThatDoesNotFit) {
  nlohmann::json json = tiny("granitemoehybrid");
  json["layer_types"] = {"mamba"};
  EXPECT_THAT(refusal(json), HasSubstr("layer_types: 1 kinds for 2 layers"));
  json["layer_types"] = {"mamba", "rwkv"};
  EXPECT_THAT(refusal(json), HasSubstr("a block \"rwkv\" cannot be described; known: mamba"));
  json = tiny("granitemoehybrid");
  json["mamba_d_head"] = 32;
  EXPECT_THAT(refusal(json), HasSubstr("mamba_d_head: 8 heads of 32 elements are not the 128"));
  json["mamba_d_head"] = "auto";
  json["mamba_n_groups"] = 3;
  EXPECT_THAT(refusal(json), HasSubstr("mamba_n_groups: 3 does not divide the 8 heads"));
}

TEST(GraniteHybrid, CostsWhatItsTensorsMultiply) {
  // in and out; chunks of 8: scores of two groups for 8 heads, 8 (2 / 8 x 8 + 16), 2 x 8 x 16 with
  // the state; a router, 2 experts and the shared one
  const double products = 64 * (160 + 128 + 8) + 128 * 64;
  const double scan = 8 * (8 * (0.25 * 8 + 16) + 2 * 8 * 16);
  const double feeds = 64 * 4 + 2 * 3 * 64 * 32 + 3 * 64 * 48;
  EXPECT_DOUBLE_EQ(forward_flops(tiny_model("granitemoehybrid"), 1),
                   2 * tokens * (products + scan + feeds));
}

TEST(GraniteHybrid, AdaptsWhatPeftCallsLinear) {
  EXPECT_THAT(
      adapted("granitemoehybrid", "all_linear"),
      ElementsAre("model.layers.0.mamba.in_proj", "model.layers.0.mamba.out_proj",
                  "model.layers.0.shared_mlp.input_linear",
                  "model.layers.0.shared_mlp.output_linear", "model.layers.1.self_attn.k_proj",
                  "model.layers.1.self_attn.o_proj", "model.layers.1.self_attn.q_proj",
                  "model.layers.1.self_attn.v_proj", "model.layers.1.shared_mlp.input_linear",
                  "model.layers.1.shared_mlp.output_linear"));
}

// ---- Bamba

TEST(Bamba, AttendsInTheBlocksThatTheFileNames) {
  const Model model = tiny_model("bamba");
  EXPECT_EQ(parameters_of(model, 1), mamba + 3 * 64 * 96 + 2 * 64);
  EXPECT_EQ(parameters_of(model, 2), attention + 3 * 64 * 96 + 2 * 64);
  EXPECT_EQ(model.architecture.rotated_dims, 8u);  // half of a head
  EXPECT_THAT(
      names_of_weights(model),
      IsSupersetOf(
          {"model.layers.0.mamba.in_proj.weight", "model.layers.0.feed_forward.gate_proj.weight",
           "model.layers.1.self_attn.q_proj.weight", "model.layers.1.pre_ff_layernorm.weight",
           "model.final_layernorm.weight", "lm_head.weight"}));
  nlohmann::json json = tiny("bamba");
  json["attn_layer_indices"] = {2};
  EXPECT_THAT(refusal(json), HasSubstr("attn_layer_indices: block 2 of 2"));
}

// ---- Falcon-H1

TEST(FalconH1, HasAttentionAndAStateSpaceInEveryBlock) {
  // 6 heads of 8, 2 groups of 8 states: mixed 48 + 32, gate 48, rates 6; no norm
  const std::uint64_t space = 64 * (80 + 48 + 6) + 80 * 5 + 3 * 6 + 48 * 64;
  const Model model = tiny_model("falcon_h1");
  for (const std::uint32_t layer : {1u, 2u})
    EXPECT_EQ(parameters_of(model, layer), attention + space + 3 * 64 * 96 + 2 * 64);
  EXPECT_THAT(
      names_of_weights(model),
      IsSupersetOf({"model.layers.0.mamba.in_proj.weight", "model.layers.0.self_attn.q_proj.weight",
                    "model.layers.0.feed_forward.up_proj.weight",
                    "model.layers.0.pre_ff_layernorm.weight", "model.final_layernorm.weight"}));
  nlohmann::json json = tiny("falcon_h1");
  json["mamba_rms_norm"] = json["projectors_bias"] = true;
  EXPECT_EQ(parameters_of(from_config(json.dump().c_str()), 1), parameters_of(model, 1) + 48 + 64);
}

TEST(FalconH1, TakesTheWidthOfItsStateSpaceFromTheFile) {
  nlohmann::json json = tiny("falcon_h1");
  json["mamba_n_heads"] = 8;
  json["mamba_d_ssm"] = nullptr;  // twice the hidden width
  EXPECT_EQ(from_config(json.dump().c_str()).architecture.state_space.width(), 128u);
  json["mamba_d_head"] = 8;
  EXPECT_THAT(refusal(json), HasSubstr("mamba_d_head"));
}

TEST(FalconH1, CostsBothHalvesOfTheMixer) {
  // 2 / 6 of 8 states for scores that 3 heads share; 16 tokens by queries, and by values
  const Model model = tiny_model("falcon_h1");
  const double space = 64 * (80 + 48 + 6) + 48 * 64 + 6 * (8 * (2.0 / 6 * 8 + 8) + 2 * 8 * 8);
  const double attends = attention + 16 * 2 * 64;
  EXPECT_DOUBLE_EQ(forward_flops(model, 1), 2 * tokens * (space + attends + 3 * 64 * 96));
}

TEST(FalconH1, SavesWhatBothHalvesReadAgain) {
  // input, normed; q, k, v, output of attention; mixed before and behind the convolution, rates,
  // output, gate and product of the state space; the other half's input, normed, gate, up, product
  EXPECT_EQ(saved(tiny_model("falcon_h1"), 1, 2),
            2 * 64 + 2 * 64 + 2 * 32 + 2 * 80 + 6 + 3 * 48 + 2 * 64 + 3 * 96);
}

TEST(FalconH1, LeavesOutWhatPeftRefusesToAdapt) {
  const std::set<std::string> all = adapted("falcon_h1", "all_linear");
  EXPECT_TRUE(all.contains("model.layers.0.mamba.in_proj"));
  EXPECT_TRUE(all.contains("model.layers.0.self_attn.o_proj"));
  EXPECT_FALSE(all.contains("model.layers.0.mamba.out_proj"));
  EXPECT_THROW(
      {
        try {
          adapted("falcon_h1", "out_proj");
        } catch (const description::ScenarioError& error) {
          EXPECT_THAT(error.what(), HasSubstr("PEFT gives out_proj of falcon_h1 no adapter"));
          throw;
        }
      },
      description::ScenarioError);
}

// ---- LFM2

// in and out, kernels of 3, a bias each
constexpr std::uint64_t convolution = 64 * 192 + 192 + 3 * 64 + 64 + 64 * 64 + 64;

TEST(Lfm2, HasConvolutionsBetweenGates) {
  // columns: 2/3 of 140 are 93, in steps of 32; attention has norms of heads
  const Model model = tiny_model("lfm2");
  EXPECT_EQ(parameters_of(model, 1), convolution + 3 * 64 * 96 + 2 * 64);
  EXPECT_EQ(parameters_of(model, 2), attention + 2 * 16 + 3 * 64 * 96 + 2 * 64);
  EXPECT_TRUE(model.architecture.tied_embeddings);
  EXPECT_THAT(shape_of(model, "model.layers.0.conv.conv.weight"), ElementsAre(64, 1, 3));
  EXPECT_THAT(shape_of(model, "model.layers.0.conv.in_proj.weight"), ElementsAre(192, 64));
  EXPECT_THAT(
      names_of_weights(model),
      IsSupersetOf({"model.layers.0.conv.out_proj.weight", "model.layers.0.feed_forward.w1.weight",
                    "model.layers.0.feed_forward.w2.weight",
                    "model.layers.0.feed_forward.w3.weight", "model.layers.0.operator_norm.weight",
                    "model.layers.0.ffn_norm.weight", "model.layers.1.self_attn.q_layernorm.weight",
                    "model.layers.1.self_attn.k_layernorm.weight",
                    "model.layers.1.self_attn.out_proj.weight", "model.embedding_norm.weight"}));
}

TEST(Lfm2, SavesTheInputsOfItsGatesAndItsConvolution) {
  // input, normed; both gates, what they multiply, the convolution's input, the projection's; the
  // other half's input, normed, gate, up, product
  EXPECT_EQ(saved(tiny_model("lfm2"), 1, 2), 2 * 64 + 6 * 64 + 2 * 64 + 3 * 96);
  EXPECT_DOUBLE_EQ(forward_flops(tiny_model("lfm2"), 1),
                   2 * tokens * (4.0 * 64 * 64 + 3 * 64 * 96));
}

TEST(Lfm2, TakesItsColumnsAsTheyAreWhereTheFileSaysSo) {
  nlohmann::json json = tiny("lfm2");
  json["block_auto_adjust_ff_dim"] = false;
  EXPECT_EQ(from_config(json.dump().c_str()).architecture.ffn, 140u);
  json.erase("block_ff_dim");
  json["intermediate_size"] = 150;
  EXPECT_EQ(from_config(json.dump().c_str()).architecture.ffn, 150u);
}

TEST(Lfm2, WithoutAnyListAttendsEverywhere) {
  nlohmann::json json = tiny("lfm2");
  json.erase("full_attn_idxs");
  const Model model = from_config(json.dump().c_str());
  EXPECT_EQ(parameters_of(model, 1), parameters_of(model, 2));
  json["layer_types"] = {"conv", "mamba"};
  EXPECT_THAT(refusal(json), HasSubstr("a state-space block (\"mamba\") cannot be described"));
  json["layer_types"] = {"conv", "sliding_attention"};
  EXPECT_THAT(refusal(json), HasSubstr("known: conv, full_attention"));
  json = tiny("lfm2");
  json["conv_dim"] = 32;
  EXPECT_THAT(refusal(json), HasSubstr("conv_dim"));
}

TEST(Lfm2, OfExpertsIsDenseFirst) {
  const Model model = tiny_model("lfm2_moe");
  const std::uint64_t plain = 64 * 192 + 3 * 64 + 64 * 64;
  const std::uint64_t experts = 64 * 4 + 4 * 3 * 64 * 32;
  EXPECT_EQ(parameters_of(model, 1), plain + 3 * 64 * 96 + 2 * 64);
  EXPECT_EQ(parameters_of(model, 2), attention + 2 * 16 + experts + 2 * 64);
  EXPECT_EQ(parameters_of(model, 3), plain + experts + 2 * 64);
  EXPECT_THAT(shape_of(model, "model.layers.1.feed_forward.experts.gate_up_proj"),
              ElementsAre(4, 64, 64));
  const Model apart = from_config(config_of("lfm2_moe"), ExpertLayout::separate);
  EXPECT_THAT(shape_of(apart, "model.layers.2.feed_forward.experts.3.w3.weight"),
              ElementsAre(32, 64));
  nlohmann::json json = tiny("lfm2_moe");
  json.erase("layer_types");
  EXPECT_THAT(refusal(json), HasSubstr("layer_types: missing"));
}

TEST(Lfm2, AdaptsProjectionsOfConvolutionsToo) {
  EXPECT_THAT(adapted("lfm2", "out_proj"),
              ElementsAre("model.layers.0.conv.out_proj", "model.layers.1.self_attn.out_proj"));
  EXPECT_EQ(adapted("lfm2", "all_linear").size(), 2u + 3 + 4 + 3);
}

// ---- Kimi Linear

TEST(KimiLinear, ForgetsEachChannelByItself) {
  // 4 heads of 8: q, k, v of 32, kernels of 4 each; by way of 8 the rates and the gate; 4 and 32
  // numbers, a rate a head, a norm of 8, out; dense
  const std::uint64_t delta =
      3 * (64 * 32 + 32 * 4) + 2 * (64 * 8 + 8 * 32) + 4 + 32 + 64 * 4 + 8 + 32 * 64;
  const Model model = tiny_model("kimi_linear");
  EXPECT_EQ(parameters_of(model, 1), delta + 3 * 64 * 96 + 2 * 64);
  // 4 heads of 24 and values of 16 by way of 24, a shared part of 8; 4 experts and a shared one
  const std::uint64_t latent = 64 * 96 + 64 * 32 + 24 + 24 * 4 * 32 + 64 * 64;
  EXPECT_EQ(parameters_of(model, 2), latent + 64 * 4 + 5 * 3 * 64 * 32 + 2 * 64);
  EXPECT_FALSE(model.architecture.block(1).rotary);
  EXPECT_THAT(
      names_of_weights(model),
      IsSupersetOf(
          {"model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_conv1d.weight",
           "model.layers.0.self_attn.A_log", "model.layers.0.self_attn.dt_bias",
           "model.layers.0.self_attn.f_a_proj.weight", "model.layers.0.self_attn.f_b_proj.weight",
           "model.layers.0.self_attn.b_proj.weight", "model.layers.0.self_attn.g_a_proj.weight",
           "model.layers.0.self_attn.g_b_proj.weight", "model.layers.0.self_attn.o_norm.weight",
           "model.layers.1.self_attn.kv_a_proj_with_mqa.weight",
           "model.layers.1.mlp.shared_experts.up_proj.weight"}));
  const Model apart = from_config(config_of("kimi_linear"), ExpertLayout::separate);
  EXPECT_THAT(shape_of(apart, "model.layers.1.block_sparse_moe.experts.3.w1.weight"),
              ElementsAre(32, 64));
}

TEST(KimiLinear, CostsALineOfTheSequence) {
  // a token and head of 8 by 8: 64 (3 x 8 + 2 x 8) + 3 x 8 x 8
  const double products = 3 * 64 * 32 + 2 * (64 * 8 + 8 * 32) + 64 * 4 + 32 * 64 + 3 * 64 * 96;
  const double rule = 4 * (64 * (3 * 8 + 2 * 8) + 3 * 8 * 8);
  EXPECT_DOUBLE_EQ(forward_flops(tiny_model("kimi_linear"), 1), 2 * tokens * (products + rule));
}

TEST(KimiLinear, SavesDecaysOfChannelsAndTwoMatricesOfAChunk) {
  const Model model = tiny_model("kimi_linear");
  // input, normed; mixed before and behind the convolutions, what rates and gate are made of, rates
  // of channels and heads, two rows of 64 a head, output, gate, normed; the other half's input,
  // normed, gate, up, product
  EXPECT_EQ(saved(model, 1, 2),
            2 * 64 + 6 * 32 + 2 * 8 + 32 + 4 + 2 * 4 * 64 + 3 * 32 + 2 * 64 + 3 * 96);
}

TEST(KimiLinear, IsRefusedByTheKeyOfWhatK3HasBesides) {
  nlohmann::json json = tiny("kimi_linear");
  json["attn_res_block_size"] = 2;
  EXPECT_THAT(refusal(json), HasSubstr("attn_res_block_size: residuals that attend to blocks"));
  json = tiny("kimi_linear");
  json["linear_attn_config"]["use_full_rank_gate"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("linear_attn_config.use_full_rank_gate"));
  json = tiny("kimi_linear");
  json["linear_attn_config"]["kda_layers"] = {1, 2};
  EXPECT_THAT(refusal(json), HasSubstr("layer 2 is in both lists, or in none"));
  json = tiny("kimi_linear");
  json["layer_types"] = {"linear_attention", "full_attention"};
  EXPECT_EQ(refusal(json), "");
  json["layer_types"] = {"rwkv", "full_attention"};
  EXPECT_THAT(refusal(json), HasSubstr("a block \"rwkv\" cannot be described"));
}

// ---- All of them

TEST(RecurrentBlocks, KeepThePromisesOfAStepProgram) {
  for (const char* type :
       {"granitemoehybrid", "bamba", "falcon_h1", "lfm2", "lfm2_moe", "kimi_linear"})
    for (const std::uint64_t ranks : {1, 2})
      for (const bool shares_tokens : {false, true})
        for (const char* targets : {"", "attention", "all_linear"}) {
          description::Training training;
          if (*targets != '\0') training.method = description::Method::lora;
          training.lora.targets = {targets};
          Workload w = workload();
          w.tensor = ranks;
          w.sequence_parallel = shares_tokens && ranks > 1;
          w.adapters = training.lora.adapters;
          w.fused_kernels = !shares_tokens;
          const Model model = as_trained(tiny_model(type), training);
          EXPECT_NO_THROW(check(build_step_program(model, w))) << type << ranks << targets;
        }
}

TEST(RecurrentBlocks, AreNotSharedByContextRanks) {
  Workload w = workload();
  w.context = 2;
  for (const char* type : {"granitemoehybrid", "falcon_h1", "lfm2", "kimi_linear"})
    EXPECT_THROW(build_step_program(tiny_model(type), w), description::ScenarioError) << type;
}

}  // namespace
}  // namespace spillway::models::recurrent_test
