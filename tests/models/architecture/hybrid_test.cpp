#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gtest/gtest.h>

namespace spillway::models::hybrid_test {
namespace {

// 2 samples of 16 tokens, 16-bit; h 64.
constexpr std::uint64_t tokens = 32;

Workload workload(Attention attention = Attention::flash) {
  Workload w;
  w.micro_batch = 2;
  w.sequence = 16;
  w.attention = attention;
  return w;
}

double forward_flops(const Model& model, std::uint32_t layer, const Workload& w) {
  const StepProgram program = build_step_program(model, w);
  return program.flops(program.layers[layer].forward).value();
}

double backward_flops(const Model& model, std::uint32_t layer, const Workload& w) {
  const StepProgram program = build_step_program(model, w);
  return program.flops(program.layers[layer].backward).value();
}

std::uint64_t parameters_of(const Model& model, std::uint32_t layer) {
  std::uint64_t sum = 0;
  for (const std::uint32_t weight : model.layers[layer].weights)
    sum += model.weights[weight].parameters.value();
  return sum;
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

std::string refusal(const std::string& json) {
  try {
    from_config(json.c_str());
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

nlohmann::json tiny(const char* type) { return nlohmann::json::parse(config_of(type)); }

// ---- Attention to chosen tokens

TEST(ChosenTokens, AreChosenByAnIndexerOfFiveTensors) {
  // 2 heads of 8 from a latent of 40; one key of 8 from 64, its norm with bias; a share a head
  const std::uint64_t indexer = 40 * 16 + 64 * 8 + 2 * 8 + 64 * 2;
  const Model with = from_config(config_of("deepseek_v32"));
  const Model without = from_config(config_of("deepseek_v3"));
  EXPECT_EQ(with.parameters.value(), without.parameters.value() + 2 * indexer);
}

TEST(ChosenTokens, AreScoredAmongAllAndAttendedToAlone) {
  // 8 of 16 tokens: the indexer scores 16 by 2 heads of 8; attention sees 8 and gathers latents of
  // 24, and 8 rotated elements, for each of 4 heads: 24 + 8 for scores, 24 for values
  nlohmann::json json = tiny("deepseek_v32");
  json["index_topk"] = 8;
  const Model few = from_config(json.dump().c_str());
  const double products = 64 * 40 + 40 * 96 + 64 * 32 + 24 * 128 + 64 * 64 + 3 * 64 * 96;
  const double indexer = 40 * 16 + 64 * 8 + 64 * 2;
  const double scores = 16 * 2 * 8, attention = 8 * 4 * (24 + 8 + 24);
  EXPECT_DOUBLE_EQ(forward_flops(few, 1, workload()),
                   2 * tokens * (products + indexer + scores + attention));
  // backward: twice the products, but of the indexer, whose input learns nothing, once; twice the
  // scores of the chosen tokens
  EXPECT_DOUBLE_EQ(backward_flops(few, 1, workload()),
                   2 * tokens * (2 * products + indexer + 2 * 8 * 2 * 8 + 2 * attention));
}

TEST(ChosenTokens, CostWhatAllCostWhereTheyAreAll) {
  // 16 of 16 tokens: heads of 24 and values of 16, as in DeepSeek-V3
  const double plain = forward_flops(from_config(config_of("deepseek_v3")), 1, workload());
  const double indexer = 40 * 16 + 64 * 8 + 64 * 2 + 16 * 2 * 8;
  EXPECT_DOUBLE_EQ(forward_flops(from_config(config_of("deepseek_v32")), 1, workload()),
                   plain + 2 * tokens * indexer);
}

TEST(ChosenTokens, OfABlockAreSharedByTheNext) {
  const Model model = from_config(config_of("glm_moe_dsa"));
  EXPECT_EQ(parameters_of(model, 1), parameters_of(model, 2) + 40 * 16 + 64 * 8 + 16 + 128);
  const StepProgram program = build_step_program(model, workload());
  const auto chosen_by = [&](std::uint32_t layer) {
    for (const TensorId id : program.saved_by(layer))
      if (program.tensors[id].name.ends_with("index.chosen")) return program.tensors[id].name;
    return std::string();
  };
  EXPECT_EQ(chosen_by(1), "layers.0.attention.index.chosen");
  EXPECT_EQ(chosen_by(2), "layers.0.attention.index.chosen");
  EXPECT_EQ(chosen_by(4), "layers.2.attention.index.chosen");
}

TEST(ChosenTokens, NeedABlockThatChoosesFirst) {
  nlohmann::json json = tiny("glm_moe_dsa");
  json["indexer_types"] = {"shared", "full", "full", "full"};
  EXPECT_NE(refusal(json.dump()).find("no block before it"), std::string::npos);
  json["indexer_types"] = {"full"};
  EXPECT_NE(refusal(json.dump()).find("1 entries for 4 layers"), std::string::npos);
}

TEST(ChosenTokens, ByAScheduleWhereNoListNamesThem) {
  // max(i + 1 - 2, 0) a multiple of 3: blocks 0, 1 and 4
  nlohmann::json json = tiny("glm_moe_dsa");
  json.erase("indexer_types");
  json["index_topk_freq"] = 3;
  json["num_hidden_layers"] = 5;
  const Model model = from_config(json.dump().c_str());
  std::string own;
  for (const BlockTraits& block : model.architecture.blocks) own += block.own_index ? 'F' : 'S';
  EXPECT_EQ(own, "FFSSF");
}

// ---- Recurrences

TEST(DeltaRule, HasTheTensorsOfQwen) {
  // keys 2 x 8, values 4 x 16: 32 + 64 mixed, 64 of the gate, 2 rates a head; kernels of 4 tokens,
  // 2 numbers a head, a norm of 16, 64 x 64 out; two norms and the feed-forward
  const std::uint64_t mixer = 64 * (96 + 64) + 64 * 8 + 96 * 4 + 2 * 4 + 16 + 64 * 64;
  EXPECT_EQ(parameters_of(from_config(config_of("qwen3_5")), 1), mixer + 2 * 64 + 3 * 64 * 96);
  // the fourth block: queries twice, as they have a gate; norms of heads
  EXPECT_EQ(parameters_of(from_config(config_of("qwen3_5")), 4),
            64u * (2 * 64 + 2 * 32) + 2 * 16 + 64 * 64 + 2 * 64 + 3 * 64 * 96);
}

TEST(DeltaRule, SavesWhatItsKernelsReadAgain) {
  // input and normed; mixed before and behind the convolution, rates, an inverse of 64 a head,
  // output, gate, normed; the other half's input, normed, gate, up, product
  EXPECT_EQ(saved(from_config(config_of("qwen3_5")), 1, 2),
            2 * 64 + 2 * 96 + 8 + 4 * 64 + 3 * 64 + 2 * 64 + 3 * 96);
}

TEST(DeltaRule, CostsALineOfTheSequence) {
  // a token and head of keys 8 and values 16: 64 (3 x 8 + 2 x 16) + 3 x 8 x 16
  const Model model = from_config(config_of("qwen3_5"));
  const double products = 64 * 160 + 64 * 8 + 64 * 64 + 3 * 64 * 96;
  const double rule = 4 * (64 * (3 * 8 + 2 * 16) + 3 * 8 * 16);
  EXPECT_DOUBLE_EQ(forward_flops(model, 1, workload()), 2 * tokens * (products + rule));
  Workload longer = workload();
  longer.sequence = 160;
  EXPECT_DOUBLE_EQ(forward_flops(model, 1, longer), 10 * forward_flops(model, 1, workload()));
}

TEST(StateSpace, HasTheTensorsOfMamba2) {
  // 4 heads of 16, 2 groups of 8: mixed 64 + 2 x 16, gate 64, rates 4; kernels with bias, 3 numbers
  // a head, norm, out; the norm before
  EXPECT_EQ(parameters_of(from_config(config_of("nemotron_h")), 1),
            64u * (96 + 64 + 4) + 96 * 5 + 3 * 4 + 64 + 64 * 64 + 64);
}

TEST(StateSpace, CostsALineOfTheSequence) {
  // chunks of 8: scores of half a group a head, 8 (8 / 2 + 16); 2 x 8 x 16 with the state
  const double scan = 4 * (8 * (0.5 * 8 + 16) + 2 * 8 * 16);
  EXPECT_DOUBLE_EQ(forward_flops(from_config(config_of("nemotron_h")), 1, workload()),
                   2 * tokens * (64 * 164 + 64 * 64 + scan));
}

TEST(StateSpace, StandsInBlocksOfOneHalf) {
  const Model model = from_config(config_of("nemotron_h"));
  EXPECT_EQ(parameters_of(model, 2), 64u + 2 * 64 * 96);                // up and down
  EXPECT_EQ(parameters_of(model, 3), 64u + 2 * 64 * 64 + 2 * 64 * 32);  // q, o and k, v
  // a router, to and from the latent of 40, 4 experts up and down, a shared one of 48
  EXPECT_EQ(parameters_of(model, 4), 64u + 64 * 4 + 2 * 64 * 40 + 4 * 2 * 40 * 32 + 2 * 64 * 48);
  EXPECT_EQ(model.parameters.value() - model.active_parameters.value(), 2u * 2 * 40 * 32);
  nlohmann::json json = tiny("nemotron_h");
  json["hybrid_override_pattern"] = "M?*E";
  EXPECT_NE(refusal(json.dump()).find("hybrid_override_pattern"), std::string::npos);
}

// ---- Blocks of other shapes

TEST(UnequalBlocks, HaveTheirOwnHeads) {
  // Gemma 4: 4 heads of 16 with 4 of keys and of values; then 4 of 32 with 2 that are both
  const Model model = from_config(config_of("gemma4"));
  EXPECT_EQ(parameters_of(model, 1), 4u * 64 * 64 + 2 * 16 + 4 * 64 + 3 * 64 * 96);
  EXPECT_EQ(parameters_of(model, 2), 2u * 64 * 128 + 64 * 64 + 2 * 32 + 4 * 64 + 3 * 64 * 96);
  // and multiply them: of 16 tokens the first sees 8
  EXPECT_DOUBLE_EQ(forward_flops(model, 1, workload()),
                   2 * tokens * (4.0 * 64 * 64 + 3 * 64 * 96 + 8 * 2 * 64));
  EXPECT_DOUBLE_EQ(forward_flops(model, 2, workload()),
                   2 * tokens * (2.0 * 64 * 128 + 64 * 64 + 3 * 64 * 96 + 16 * 2 * 128));
}

TEST(UnequalBlocks, MayAddADenseFeedForwardToExperts) {
  // 3 norms more, the router's norm and a factor an expert; 4 experts of 3 matrices 64 x 32
  const Model dense = from_config(config_of("gemma4")), both = from_config(config_of("gemma4_moe"));
  EXPECT_EQ(parameters_of(both, 1),
            parameters_of(dense, 1) + 3 * 64 + 64 * 4 + 64 + 4 + 4 * 3 * 64 * 32);
  EXPECT_DOUBLE_EQ(forward_flops(both, 1, workload()) - forward_flops(dense, 1, workload()),
                   2 * tokens * (64.0 * 4 + 2 * 3 * 64 * 32));
}

TEST(UnequalBlocks, MayHaveSinksInSomeAlone) {
  const Model model = from_config(config_of("mimo_v2_flash"));
  // 4 heads of 24 and values of 16, 2 and 4 of keys; sinks where it slides
  EXPECT_EQ(parameters_of(model, 1), 64u * 96 + 64 * 48 + 64 * 32 + 64 * 64 + 2 * 64 + 3 * 64 * 96);
  EXPECT_EQ(parameters_of(model, 2),
            64u * 96 + 64 * 96 + 64 * 64 + 64 * 64 + 4 + 2 * 64 + 64 * 4 + 4 * 3 * 64 * 32);
}

TEST(UnequalBlocks, MayLackAHalf) {
  // columns: 2/3 x 5.25 x 64 = 224, in steps of 256; 2/3 x 12.5 x 64 = 533, so 768
  const Model model = from_config(config_of("nemotron-nas"));
  EXPECT_EQ(parameters_of(model, 1), 2u * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 256 + 2 * 64);
  EXPECT_EQ(parameters_of(model, 2), 3u * 64 * 768 + 64);
  EXPECT_EQ(parameters_of(model, 3), 4u * 64 * 64 + 64);
}

TEST(UnequalBlocks, AreRefusedByTheKeyOfWhatTheyCannotBe) {
  nlohmann::json json = tiny("nemotron-nas");
  json["block_configs"][1]["ffn"] = {{"no_op", true}};
  EXPECT_NE(refusal(json.dump()).find("block_configs[1]"), std::string::npos);
  json = tiny("nemotron-nas");
  json["block_configs"][0]["attention"]["replace_with_linear"] = true;
  EXPECT_NE(refusal(json.dump()).find("block_configs[0].attention.replace_with_linear"),
            std::string::npos);
  json = tiny("gemma4");
  json["hidden_size_per_layer_input"] = 8;
  EXPECT_NE(refusal(json.dump()).find("hidden_size_per_layer_input"), std::string::npos);
}

TEST(UnequalBlocks, MustAllBeSharedByTheRanks) {
  Workload w = workload();
  w.tensor = 4;  // 2 heads of keys in the second block
  EXPECT_THROW(build_step_program(from_config(config_of("gemma4")), w), description::ScenarioError);
  w.tensor = 2;
  EXPECT_NO_THROW(check(build_step_program(from_config(config_of("gemma4")), w)));
}

TEST(RefusedBlocks, AreThoseOfATypeThatDoesNotKnowThem) {
  nlohmann::json json = tiny("qwen3");
  json["index_topk"] = 8;
  EXPECT_NE(refusal(json.dump()).find("index_topk"), std::string::npos);
  json = tiny("deepseek_v32");
  json["compress_ratios"] = {0, 4};
  EXPECT_NE(refusal(json.dump()).find("compress_ratios"), std::string::npos);
}

}  // namespace
}  // namespace spillway::models::hybrid_test
