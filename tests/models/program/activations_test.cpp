#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "tests/models/configs.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <set>

namespace spillway::models {
namespace {

constexpr std::uint64_t batch = 2, sequence = 16, width = 64;
constexpr std::uint64_t sbh = sequence * batch * width;

Workload workload(std::uint64_t tensor, double dropout, Attention attention = Attention::flash) {
  Workload w;
  w.precision = Precision::fp16_mixed;
  w.micro_batch = batch;
  w.sequence = sequence;
  w.tensor = tensor;
  w.dropout = dropout;
  w.attention = attention;
  return w;
}

/// Norm statistics and flash attention's sums of exponentials: the published sums leave them out.
bool is_small(const Tensor& tensor) {
  return tensor.name.ends_with(".statistics") || tensor.name.ends_with(".log_sum_exp");
}

std::uint64_t saved_bytes(const StepProgram& program, const std::vector<std::uint32_t>& layers) {
  std::set<TensorId> tensors;
  for (const std::uint32_t layer : layers)
    for (const TensorId tensor : program.saved_by(layer)) tensors.insert(tensor);
  std::uint64_t bytes = 0;
  for (const TensorId tensor : tensors)
    if (!is_small(program.tensors[tensor])) bytes += program.tensors[tensor].bytes.value();
  return bytes;
}

std::uint64_t first_block(const char* config, const Workload& w) {
  return saved_bytes(build_step_program(from_config(config), w), {1});
}

TEST(Activations, AGptBlockSavesTenPlus24OverTWithDropout) {
  // s b h (10 + 24/t): norm inputs 4, norm outputs 4, masks 2; q k v 6, attention output 2,
  // GELU input 8 and output 8 are divided by t
  EXPECT_EQ(first_block(tiny_gpt2, workload(1, 0.1)), 34 * sbh);
  EXPECT_EQ(first_block(tiny_gpt2, workload(2, 0.1)), 22 * sbh);
  EXPECT_EQ(first_block(tiny_gpt2, workload(4, 0.1)), 16 * sbh);
}

TEST(Activations, WithoutDropoutTheTwoMasksAreNotSaved) {
  EXPECT_EQ(first_block(tiny_gpt2, workload(1, 0)), 32 * sbh);
  EXPECT_EQ(first_block(tiny_gpt2, workload(2, 0)), 20 * sbh);
}

TEST(Activations, MaterializedAttentionAddsFiveAsOverH) {
  // 5 a s^2 b / t: softmax 2, mask 1, dropped softmax 2; without dropout only the first
  const std::uint64_t ass_b = 4 * sequence * sequence * batch;
  const auto full = Attention::materialized;
  EXPECT_EQ(first_block(tiny_gpt2, workload(1, 0.1, full)), 34 * sbh + 5 * ass_b);
  EXPECT_EQ(first_block(tiny_gpt2, workload(2, 0.1, full)), 22 * sbh + 5 * ass_b / 2);
  EXPECT_EQ(first_block(tiny_gpt2, workload(1, 0, full)), 32 * sbh + 2 * ass_b);
}

TEST(Activations, BertSavesWhatGptDoesThoughItsNormsStandBehind) {
  EXPECT_EQ(first_block(tiny_bert, workload(1, 0.1)), 34 * sbh);
  EXPECT_EQ(first_block(tiny_bert, workload(2, 0.1)), 22 * sbh);
}

TEST(Activations, BertsHeadSavesTenWithTheNormOfTheEmbedding) {
  // 2 each: transform input, GELU input, norm input, vocabulary input; embedding norm input;
  // and the embedding's dropout mask, 1. Two ranks keep their share of each softmax, 4 B a token
  const StepProgram program = build_step_program(from_config(tiny_bert), workload(2, 0.1));
  EXPECT_EQ(saved_bytes(program, {0}), 3 * sbh);
  EXPECT_EQ(saved_bytes(program, {3}), 8 * sbh + 4 * sequence * batch);
}

TEST(Activations, ALlamaBlockSavesTheListOfItsPaperInFp32) {
  // 4 (6H + 2KV + 4I) bytes a token: residual, norm output, q, k, v, attention output,
  // residual, norm output, gate, up, silu(gate), product
  Workload w = workload(1, 0);
  w.precision = Precision::fp32;
  w.fused_kernels = false;
  EXPECT_EQ(first_block(tiny_llama, w), batch * sequence * 4 * (6 * 64 + 2 * 32 + 4 * 96));
  // dropout drops attention weights only, of which flash keeps no mask
  w.dropout = 0.1;
  EXPECT_EQ(first_block(tiny_llama, w), batch * sequence * 4 * (6 * 64 + 2 * 32 + 4 * 96));
}

// In 16 bits each of the two norms keeps its input in fp32 and, where its weight is trained, what
// it normed: 2 (6H + 2KV + 4I) of the other tensors without the two inputs, and 4H + 2H a norm.
TEST(Activations, AnUnfusedNormKeepsItsInputInFp32AndWhatItNormed) {
  Workload w = workload(1, 0);
  w.fused_kernels = false;
  const std::uint64_t others = 2 * (4 * 64 + 2 * 32 + 4 * 96), norms = 2 * (4 + 2) * 64;
  EXPECT_EQ(first_block(tiny_llama, w), batch * sequence * (others + norms));
  Model frozen = from_config(tiny_llama);
  for (WeightTensor& weight : frozen.weights)
    if (weight.kind == WeightKind::norm) weight.frozen = true;
  EXPECT_EQ(saved_bytes(build_step_program(frozen, w), {1}),
            batch * sequence * (others + 2 * 4 * 64));
}

// Where the weight is multiplied in fp32, what was normed stays in it: 4H + 4H a norm. Of Gemma 2 a
// block has four.
TEST(Activations, AnUnfusedNormThatLeavesFp32LastKeepsWhatItNormedInFp32) {
  constexpr const char* gemma2 = R"({"model_type": "gemma2", "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 160})";
  Workload w = workload(1, 0);
  w.fused_kernels = false;
  const StepProgram program = build_step_program(from_config(gemma2), w);
  std::uint64_t inputs = 0, normed = 0;
  for (const TensorId id : program.saved_by(1)) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.name.ends_with(".input_fp32")) inputs += tensor.bytes.value();
    if (tensor.name.ends_with(".normed")) normed += tensor.bytes.value();
  }
  EXPECT_EQ(inputs, 4 * 4 * sbh);
  EXPECT_EQ(normed, 4 * 4 * sbh);
  EXPECT_NO_THROW(check(program));
}

// Norms that run again do so from their inputs: with neither of the other two kept a block has 2H a
// norm more, of which the second is what the first half of the block hands on.
TEST(Activations, UnfusedNormsThatRunAgainKeepTheirInputs) {
  Workload w = workload(1, 0);
  w.fused_kernels = false;
  const std::uint64_t before = first_block(tiny_llama, w);
  w.recomputed = {description::RecomputedOperator::norm};
  EXPECT_EQ(first_block(tiny_llama, w), before + 2 * 2 * sbh);
}

// Where blocks run again they do so from their input, which no norm keeps then.
TEST(Activations, AnUnfusedNormKeepsTheInputOfABlockThatRunsAgain) {
  Workload w = workload(1, 0);
  w.fused_kernels = false;
  const std::uint64_t before = first_block(tiny_llama, w);
  w.keeps_inputs = true;
  EXPECT_EQ(first_block(tiny_llama, w), before + 2 * sbh);
  EXPECT_NO_THROW(check(build_step_program(from_config(tiny_llama), w)));
}

// to fp32 and back, the square, its mean, by the root, by the weight: 36 bytes a number.
TEST(Activations, AnUnfusedNormMovesWhatItsKernelsDo) {
  Workload w = workload(1, 0);
  w.fused_kernels = false;
  const StepProgram program = build_step_program(from_config(tiny_llama), w);
  const auto norm =
      std::find_if(program.operators.begin(), program.operators.end(),
                   [](const Operator& op) { return op.name.ends_with("layers.0.attention.norm"); });
  ASSERT_NE(norm, program.operators.end());
  const std::uint64_t tokens = batch * sequence, weights = 64 * 2, roots = tokens * 4;
  EXPECT_EQ(norm->bytes.value(), 36 * tokens * 64 + weights + roots);
  EXPECT_EQ(norm->workspace.value(), 4 * tokens * 64);
}

TEST(Activations, AFusedGateSavesNoActivatedGate) {
  EXPECT_EQ(first_block(tiny_llama, workload(1, 0)),
            batch * sequence * 2 * (6 * 64 + 2 * 32 + 3 * 96));
}

TEST(Activations, AFusedGatesGradientsTakeThePlaceOfGateAndUp) {
  const StepProgram program = build_step_program(from_config(tiny_llama), workload(1, 0));
  for (const Operator& op : program.operators) {
    if (!op.name.ends_with("layers.0.ffn.product.backward")) continue;
    ASSERT_EQ(op.operands.size(), 3u);  // gradient of the product, gate, up
    EXPECT_EQ(op.operands[1].access, Access::read_write);
    EXPECT_EQ(program.tensors[op.operands[1].tensor].name, "layers.0.ffn.gate");
    EXPECT_EQ(op.operands[2].access, Access::read_write);
    EXPECT_EQ(program.tensors[op.operands[2].tensor].name, "layers.0.ffn.up");
    return;
  }
  FAIL() << "no backward of the product";
}

TEST(Activations, TensorRanksShareALlamasInnerTensors) {
  // residual and norm output twice stay whole: 4H; the rest is halved
  EXPECT_EQ(first_block(tiny_llama, workload(2, 0)),
            batch * sequence * 2 * (4 * 64 + (2 * 64 + 2 * 32 + 3 * 96) / 2));
}

TEST(Activations, Llama8BNeeds335872BytesATokenAndLayer) {
  // 4 (6 x 4096 + 2 x 1024 + 4 x 14336) = 4 x 83968 = 335872
  Workload w;
  w.precision = Precision::fp32;
  w.sequence = 128;
  w.fused_kernels = false;
  const StepProgram program = build_step_program(from_library("llama-3.1-8b"), w);
  EXPECT_EQ(saved_bytes(program, {1}), 128u * 335872);
}

TEST(Activations, T5StoresTheEncoderOutputOnceForAllCrossAttentions) {
  // (10 + 24/t) an encoder layer, (15 + 32/t) a decoder layer, 2 for the encoder output:
  // 2 and 2 layers: t = 1: 2 x 34 + 2 x 47 + 2; t = 2: 2 x 22 + 2 x 31 + 2
  const Model model = from_config(tiny_t5);
  const std::vector<std::uint32_t> blocks{1, 2, 4, 5};
  EXPECT_EQ(saved_bytes(build_step_program(model, workload(1, 0.1)), blocks), 164 * sbh);
  EXPECT_EQ(saved_bytes(build_step_program(model, workload(2, 0.1)), blocks), 108 * sbh);
  const StepProgram program = build_step_program(model, workload(2, 0.1));
  EXPECT_EQ(saved_bytes(program, {1}), 22 * sbh);
  EXPECT_EQ(saved_bytes(program, {4}), (31 + 2) * sbh);
}

TEST(Activations, T5sPublishedSumsForThreeAndTwoLayers) {
  // L layers: floor(L/2) decoders; t = 2: L = 3 gives 77, L = 2 gives 55
  const char* three = R"({"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4,
      "d_ff": 256, "num_layers": 2, "num_decoder_layers": 1, "vocab_size": 100})";
  const char* two = R"({"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4,
      "d_ff": 256, "num_layers": 1, "num_decoder_layers": 1, "vocab_size": 100})";
  EXPECT_EQ(saved_bytes(build_step_program(from_config(three), workload(2, 0.1)), {1, 2, 4}),
            77 * sbh);
  EXPECT_EQ(saved_bytes(build_step_program(from_config(two), workload(2, 0.1)), {1, 3}), 55 * sbh);
}

TEST(Activations, AnExpertBlockSavesTheCopiesOfTheExpertsUsed) {
  // 16-bit, per token: residual, norm output twice; q, k, v, attention output; 2 copies of
  // input and output; gate, up, product for 2 of 4 experts; and 2 fp32 shares
  const std::uint64_t token = 2 * (6 * 64 + 2 * 32 + 2 * 2 * 64 + 3 * 2 * 96) + 2 * 4;
  EXPECT_EQ(first_block(tiny_mixtral, workload(1, 0)), batch * sequence * token);
}

TEST(Activations, TheBlocksInputIsSavedAndMarkedForCheckpoints) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, tiny_mixtral}) {
    const Model model = from_config(config);
    const StepProgram program = build_step_program(model, workload(2, 0));
    for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
      if (!model.layers[layer].is_block) continue;
      const TensorId input = program.layers[layer].input.value();
      EXPECT_TRUE(program.tensors[input].is_residual);
      EXPECT_EQ(program.tensors[input].bytes.value(), 2 * sbh);
      EXPECT_EQ(program.saved_by(layer).front(), input);
      // what recomputation cannot make again is marked, and nothing else that is saved
      for (const TensorId tensor : program.saved_by(layer))
        EXPECT_EQ(program.tensors[tensor].is_residual, program.tensors[tensor].layer != layer);
    }
  }
}

TEST(Activations, SmallTensorsAreSeparate) {
  const StepProgram program = build_step_program(from_config(tiny_gpt2), workload(2, 0));
  std::uint64_t small = 0;
  for (const TensorId tensor : program.saved_by(1))
    if (is_small(program.tensors[tensor])) small += program.tensors[tensor].bytes.value();
  // two norms of mean and deviation, and one sum for each of 4 heads / 2 ranks, 4 bytes each
  EXPECT_EQ(small, batch * sequence * 4 * (2 * 2 + 4 / 2));
}

}  // namespace
}  // namespace spillway::models
