#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <set>

namespace spillway::models::blocks_test {
namespace {

// 2 samples of 16 tokens, 16-bit; h 64, 4 heads of 16, 2 key heads, f 96.
constexpr std::uint64_t tokens = 32;

Workload workload(Attention attention = Attention::flash, bool fused = true) {
  Workload w;
  w.micro_batch = 2;
  w.sequence = 16;
  w.attention = attention;
  w.fused_kernels = fused;
  return w;
}

/// What a layer saves of 16-bit elements, a token: statistics, sums and shares are 32-bit.
std::uint64_t saved_elements(const char* type, std::uint32_t layer, const Workload& w) {
  const StepProgram program = build_step_program(from_config(config_of(type)), w);
  std::uint64_t elements = 0;
  for (const TensorId id : program.saved_by(layer))
    if (program.tensors[id].bytes.value() == 2 * program.tensors[id].elements)
      elements += program.tensors[id].elements;
  EXPECT_EQ(elements % tokens, 0u);
  return elements / tokens;
}

double forward_flops(const char* type, const Workload& w) {
  return build_step_program(from_config(config_of(type)), w).forward_flops().value();
}

std::uint64_t logits_bytes(const char* type, const Workload& w) {
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : build_step_program(from_config(config_of(type)), w).tensors)
    if (tensor.role == TensorRole::logits) bytes += tensor.bytes.value();
  return bytes;
}

class EveryType : public testing::TestWithParam<TypeConfig> {};

TEST_P(EveryType, KeepsThePromisesOfAStep) {
  const Model model = from_config(GetParam().json);
  double detached = 0;  // products whose input learns nothing: an indexer's
  for (const WeightTensor& weight : model.weights)
    if (weight.kind == WeightKind::index_query || weight.kind == WeightKind::index_key ||
        weight.kind == WeightKind::index_share)
      detached += 2.0 * tokens * static_cast<double>(weight.parameters.value());
  for (const std::uint64_t ways : {1, 2})
    for (const Attention attention : {Attention::flash, Attention::materialized})
      for (const bool fused : {true, false})
        for (const double dropout : {0.0, 0.1}) {
          Workload w = workload(attention, fused);
          w.tensor = ways;
          w.dropout = dropout;
          const StepProgram program = build_step_program(model, w);
          EXPECT_NO_THROW(check(program));
          EXPECT_DOUBLE_EQ(program.flops(program.backward).value(),
                           2 * program.forward_flops().value() - detached);
        }
}

TEST_P(EveryType, HasEachWeightOnceByAName) {
  const Model model = from_config(GetParam().json);
  std::set<std::string> names;
  Params sum;
  for (const WeightTensor& weight : model.weights) {
    EXPECT_TRUE(names.insert(weight.name).second) << weight.name;
    EXPECT_GT(weight.parameters.value(), 0u);
    sum += weight.parameters;
  }
  EXPECT_EQ(sum, model.parameters);
  EXPECT_LE(model.active_parameters, model.parameters);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, testing::ValuesIn(type_configs), [](const auto& row) {
  std::string name = row.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Blocks, NormsOfQueriesAndKeysSaveWhatTheyNorm) {
  // llama: 6 h + 2 kv + 3 f; and queries and keys as the projections leave them
  EXPECT_EQ(saved_elements("qwen3", 1, workload()), 6 * 64 + 2 * 32 + 3 * 96 + (64 + 32));
}

TEST(Blocks, ASandwichSavesTheOutputsOfItsHalvesForTheNormsBehind) {
  EXPECT_EQ(saved_elements("gemma2", 1, workload()), 6 * 64 + 2 * 32 + 3 * 96 + 2 * 64);
}

TEST(Blocks, ABlockThatNormsOutputsSavesNoNormedInput) {
  // input, q and k before and behind their norms, v, attention output, projection; input of the
  // feed-forward, gate, up, product, down
  EXPECT_EQ(saved_elements("olmo2", 1, workload()),
            64 + 2 * (64 + 32) + 32 + 64 + 64 + 64 + 3 * 96 + 64);
}

TEST(Blocks, AParallelBlockSavesItsNormedInputOnceForBothHalves) {
  // input, normed; q k v, attention output; 4h before and behind the activation
  EXPECT_EQ(saved_elements("gptj", 1, workload()), 2 * 64 + 3 * 64 + 64 + 2 * 256);
}

TEST(Blocks, LatentAttentionSavesBothLatentsTwiceAndWholeKeys) {
  // input, normed; latents of queries 40 and keys 24 before and behind their norms; queries and
  // keys 4 x (16 + 8), values 4 x 16, output 4 x 16; the dense feed-forward
  EXPECT_EQ(saved_elements("deepseek_v3", 1, workload()),
            2 * 64 + 2 * (40 + 24) + 2 * 96 + 64 + 64 + 2 * 64 + 3 * 96);
  // without a latent of queries
  EXPECT_EQ(saved_elements("deepseek_v2", 1, workload()),
            2 * 64 + 2 * 24 + 2 * 96 + 64 + 64 + 2 * 64 + 3 * 96);
}

TEST(Blocks, LatentAttentionMultipliesByWhatItHas) {
  // first block: 64 x 40, 40 x 96, 64 x (24 + 8), 24 x (64 + 64), 64 x 64; scores of 96 and values
  // of 64, 16 keys a token; 3 matrices 64 x 96
  const StepProgram program = build_step_program(from_config(config_of("deepseek_v3")), workload());
  const double weights = 64 * 40 + 40 * 96 + 64 * 32 + 24 * 128 + 64 * 64 + 3 * 64 * 96;
  EXPECT_DOUBLE_EQ(program.flops(program.layers[1].forward).value(),
                   2 * tokens * (weights + 16 * (96 + 64)));
}

TEST(Blocks, SharedExpertsSaveWhatAFeedForwardSaves) {
  // attention as in llama; copies in and out of 2 experts, gate, up, product of 32 each; of the
  // shared experts 3 x 48, their output and its share; and the logits of 4, without which there is
  // no way back through a softmax of which the chosen are not all
  EXPECT_EQ(saved_elements("qwen2_moe", 2, workload()),
            6 * 64 + 2 * 32 + 2 * (2 * 64 + 3 * 32) + 3 * 48 + 64 + 1 + 4);
  // and no experts in the block that mlp_only_layers names
  EXPECT_EQ(saved_elements("qwen2_moe", 1, workload()), 6 * 64 + 2 * 32 + 3 * 96);
}

TEST(Blocks, ExpertsInOneTensorCostAsMuchAsEachInItsOwn) {
  // gpt_oss and mixtral of equal shape: 2 experts of 3 matrices 64 x 96 and a router of 4
  const auto experts = [](const char* config) {
    const StepProgram program = build_step_program(from_config(config), workload());
    double flops = 0;
    for (std::uint32_t i = 0; i < program.forward.last; ++i) {
      const Operator& op = program.operators[i];
      if (op.layer != 1 || op.name.find("attention") != std::string::npos) continue;
      flops += op.flops.value();
      if (op.name.find(".ffn.") != std::string::npos && op.kind == OperatorKind::matmul) {
        EXPECT_EQ(op.gemm.batch, 4u) << op.name;
      }
    }
    return flops;
  };
  EXPECT_DOUBLE_EQ(experts(config_of("gpt_oss")), 2 * tokens * (2 * 3 * 64 * 96 + 64 * 4));
  EXPECT_DOUBLE_EQ(experts(tiny_mixtral), experts(config_of("gpt_oss")));
}

TEST(Blocks, AWindowLeavesOutTheScoresItHides) {
  // gemma2: the first of two blocks sees 8 of 16 tokens; 4 T (16 - 8) q FLOPs less
  const double whole = forward_flops("gemma2", workload(Attention::materialized));
  EXPECT_DOUBLE_EQ(whole - forward_flops("gemma2", workload()), 4 * tokens * 8 * 64);
  // where flash skips the causal half: 16 x 8 - 8^2 / 2 = 96 scores a head behind the window and
  // 16^2 / 2 = 128 in the other block; whole scores are 16^2 = 256 in both
  Workload skip = workload();
  skip.causal_skip = true;
  Workload skip_all = skip;
  skip_all.attention = Attention::materialized;
  EXPECT_DOUBLE_EQ(forward_flops("gemma2", skip_all) - forward_flops("gemma2", skip),
                   4 * 2 * ((256 - 96) + (256 - 128)) * 64);
}

TEST(Blocks, AWindowAsLongAsTheSequenceHidesNothing) {
  Workload short_one = workload();
  short_one.sequence = 8;
  Workload materialized = short_one;
  materialized.attention = Attention::materialized;
  EXPECT_DOUBLE_EQ(forward_flops("gemma2", short_one), forward_flops("gemma2", materialized));
}

TEST(Blocks, ChunksAreSquaresAndALastSmallerOne) {
  // llama4: three of four blocks in chunks of 8; 20 tokens: 8^2 + 8^2 + 4^2 = 144 of 400 scores
  Workload w = workload();
  w.sequence = 20;
  Workload whole = w;
  whole.attention = Attention::materialized;
  EXPECT_DOUBLE_EQ(forward_flops("llama4", whole) - forward_flops("llama4", w),
                   3 * 4 * 2 * (400 - 144) * 64.0);
}

TEST(Blocks, CappedScoresAreKeptBesideTheirSoftmax) {
  // materialized: 4 heads x 16 keys a token, capped and softmax; llama's kin the softmax alone
  const std::uint64_t flash = saved_elements("gemma2", 1, workload());
  EXPECT_EQ(saved_elements("gemma2", 1, workload(Attention::materialized)), flash + 2 * 4 * 16 - 0);
  EXPECT_EQ(saved_elements("qwen3", 1, workload(Attention::materialized)),
            saved_elements("qwen3", 1, workload()) + 4 * 16);
}

TEST(Blocks, CappedLogitsAreATensorMoreAndSoIsTheirGradient) {
  // 100 words: logits 2 and softmax 4 bytes; capped 2, and gradients of both, 2 each, as neither
  // can take the other's place
  const Workload whole = workload(Attention::flash, false);
  EXPECT_EQ(logits_bytes("qwen3", whole), (2 + 4) * tokens * 100);
  EXPECT_EQ(logits_bytes("gemma2", whole), (2 + 4 + 2 + 2 + 2) * tokens * 100);
  EXPECT_EQ(logits_bytes("gemma2", workload()), 0u);  // inside the fused loss
}

TEST(Blocks, SinksAreAWeightThatAttentionReadsAndGrades) {
  const Model model = from_config(config_of("gpt_oss"));
  const StepProgram program = build_step_program(model, workload());
  int read = 0, graded = 0;
  for (const Operator& op : program.operators)
    for (const Operand& operand : op.operands) {
      const Tensor& tensor = program.tensors[operand.tensor];
      if (op.kind != OperatorKind::attention || !tensor.weight) continue;
      EXPECT_EQ(model.weights[*tensor.weight].kind, WeightKind::sinks);
      (tensor.role == TensorRole::weight ? read : graded) += 1;
    }
  EXPECT_EQ(read, 4);  // forward and backward of 2 blocks
  EXPECT_EQ(graded, 2);
}

TEST(Blocks, OnlyTheRotatedPartOfAHeadIsTouched) {
  // gptj rotates 8 of 16 elements: half of queries and keys, read and written, 2 bytes
  const StepProgram program = build_step_program(from_config(config_of("gptj")), workload());
  for (std::uint32_t i = 0; i < program.forward.last; ++i)
    if (program.operators[i].function == OperatorFunction::rotation) {
      EXPECT_EQ(program.operators[i].bytes.value(), 2 * 2 * tokens * (64 + 64) / 2);
    }
}

TEST(Blocks, WhatHasNoPositionsDoesNotRotate) {
  const auto rotations = [](const char* type) {
    const StepProgram program = build_step_program(from_config(config_of(type)), workload());
    int found = 0;
    for (std::uint32_t i = 0; i < program.forward.last; ++i)
      found += program.operators[i].function == OperatorFunction::rotation;
    return found;
  };
  EXPECT_EQ(rotations("bloom"), 0);
  EXPECT_EQ(rotations("qwen3"), 2);
  EXPECT_EQ(rotations("llama4"), 3);   // the fourth block has none
  EXPECT_EQ(rotations("exaone4"), 3);  // only blocks with a window
}

}  // namespace
}  // namespace spillway::models::blocks_test
