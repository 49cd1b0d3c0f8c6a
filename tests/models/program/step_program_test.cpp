#include "models/program/step_program.hpp"

#include "models/program/check.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"

#include <gmock/gmock.h>

namespace spillway::models::step_program_test {
namespace {

Workload workload(std::uint64_t micro_batch, std::uint64_t sequence, std::uint64_t tensor = 1) {
  Workload w;
  w.micro_batch = micro_batch;
  w.sequence = sequence;
  w.tensor = tensor;
  return w;
}

Bytes total(const StepProgram& program, TensorRole role) {
  Bytes sum;
  for (const Tensor& tensor : program.tensors)
    if (tensor.role == role) sum += tensor.bytes;
  return sum;
}

const Tensor& named(const StepProgram& program, const std::string& name) {
  for (const Tensor& tensor : program.tensors)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

TEST(StepProgram, ForwardFlopsOfLohans13B) {
  // T = 32 x 1024, h 5120, L 40, V 50257: 24 T h^2 L + 4 T s h L + 2 T h V
  const double tokens = 32 * 1024, h = 5120, layers = 40, words = 50257;
  const double expected =
      24 * tokens * h * h * layers + 4 * tokens * 1024 * h * layers + 2 * tokens * h * words;
  const StepProgram program = build_step_program(from_library("lohan-13b"), workload(32, 1024));
  EXPECT_DOUBLE_EQ(program.forward_flops().value(), expected);
  EXPECT_DOUBLE_EQ(program.flops(program.backward).value(), 2 * expected);
  EXPECT_DOUBLE_EQ(program.flops(program.update).value(), 0);
}

TEST(StepProgram, ForwardFlopsOfLlama8BCountEveryMatrixOnce) {
  // 2 (P - E) T + 4 L T s Q: all weights but the embedding (looked up) and the norms
  const Model model = from_library("llama-3.1-8b");
  const double tokens = 4096;
  const double multiplied = 8030261248.0 - 128256.0 * 4096 - 65.0 * 4096;
  EXPECT_DOUBLE_EQ(build_step_program(model, workload(1, 4096)).forward_flops().value(),
                   2 * multiplied * tokens + 4 * 32 * tokens * 4096 * 4096);
}

TEST(StepProgram, CausalSkipHalvesTheAttentionOfDecodersOnly) {
  // 4 L T s h = 4 x 2 x 32 x 16 x 64; half of it is saved
  Workload skip = workload(2, 16);
  skip.causal_skip = true;
  const auto saved = [&](const char* config) {
    const Model model = from_config(config);
    return build_step_program(model, workload(2, 16)).forward_flops().value() -
           build_step_program(model, skip).forward_flops().value();
  };
  EXPECT_DOUBLE_EQ(saved(tiny_gpt2), 4 * 2 * 32 * 16 * 64 / 2);
  EXPECT_DOUBLE_EQ(saved(tiny_bert), 0);
  EXPECT_DOUBLE_EQ(saved(tiny_t5), 4 * 2 * 32 * 16 * 64 / 2);  // the decoder's self-attention
}

TEST(StepProgram, T5DecoderLayersCost32Th2And8Tsh) {
  // encoder 24 T h^2 + 4 T s h, decoder 32 T h^2 + 8 T s h, two of each; head 2 T h V
  const double t = 32, h = 64, s = 16;
  EXPECT_DOUBLE_EQ(
      build_step_program(from_config(tiny_t5), workload(2, 16)).forward_flops().value(),
      2 * (24 * t * h * h + 4 * t * s * h) + 2 * (32 * t * h * h + 8 * t * s * h) +
          2 * t * h * 100);
}

TEST(StepProgram, BertsHeadHasATransformThatNoRankShares) {
  // per rank: (24 T h^2 + 4 T s h) L / t + 2 T h V / t + 2 T h^2
  const double t = 32, h = 64, s = 16;
  EXPECT_DOUBLE_EQ(
      build_step_program(from_config(tiny_bert), workload(2, 16, 2)).forward_flops().value(),
      2 * (24 * t * h * h + 4 * t * s * h) / 2 + 2 * t * h * 100 / 2 + 2 * t * h * h);
}

TEST(StepProgram, ExpertsCountTheFlopsOfThoseUsedAndTheBytesOfAll) {
  const Model model = from_config(tiny_mixtral);
  const StepProgram program = build_step_program(model, workload(2, 16));
  const double t = 32, h = 64;
  // q and o h^2, k and v h x 32, router h x 4, 2 experts of three h x 96; attention; head
  EXPECT_DOUBLE_EQ(
      program.forward_flops().value(),
      2 * (2 * t * (2 * h * h + 2 * h * 32 + 4 * h + 2 * 3 * h * 96) + 4 * t * 16 * h) +
          2 * t * h * 100);
  EXPECT_EQ(total(program, TensorRole::weight).value(), 2 * model.parameters.value());
}

TEST(StepProgram, SixteenBytesAParameterInMixedPrecisionWithAdam) {
  const Model model = from_config(tiny_gpt2);
  const StepProgram program = build_step_program(model, workload(1, 16));
  const std::uint64_t p = model.parameters.value();
  EXPECT_EQ(total(program, TensorRole::weight).value(), 2 * p);
  EXPECT_EQ(total(program, TensorRole::weight_gradient).value(), 2 * p);
  EXPECT_EQ(total(program, TensorRole::master).value(), 4 * p);
  EXPECT_EQ(total(program, TensorRole::momentum).value(), 4 * p);
  EXPECT_EQ(total(program, TensorRole::variance).value(), 4 * p);
}

Bytes update_traffic(const StepProgram& program) {
  Bytes sum;
  for (std::uint32_t i = program.update.first; i < program.update.last; ++i)
    sum += program.operators[i].bytes;
  return sum;
}

TEST(StepProgram, UpdateTrafficPerParameter) {
  const Model model = from_config(tiny_gpt2);
  const std::uint64_t p = model.parameters.value();
  constexpr auto wide = description::StateWidth::fp32, narrow = description::StateWidth::bf16;
  const auto traffic = [&](Precision precision, Optimizer optimizer,
                           description::StateWidth states) {
    Workload w = workload(1, 16);
    w.precision = precision;
    w.optimizer = optimizer;
    w.states = states;
    return update_traffic(build_step_program(model, w)).value();
  };
  // mixed: gradient 2, master, momentum, variance 12 in; the same states and the weight 2 out
  EXPECT_EQ(traffic(Precision::fp16_mixed, Optimizer::adam, wide), 28 * p);
  // bf16 states: weight, gradient, two states in, all but the gradient out: 2 x 7
  EXPECT_EQ(traffic(Precision::bf16_mixed, Optimizer::adam, narrow), 14 * p);
  // fp32: weight, gradient, two states in, all but the gradient out: 4 x 7
  EXPECT_EQ(traffic(Precision::fp32, Optimizer::adam, wide), 28 * p);
  // fp16 SGD without momentum: 4 in, 2 out
  EXPECT_EQ(traffic(Precision::fp16, Optimizer::sgd, wide), 6 * p);
}

TEST(StepProgram, StatesBelongToTheirWeight) {
  const Model model = from_config(tiny_gpt2);
  const StepProgram program = build_step_program(model, workload(1, 16));
  for (std::uint32_t i = 0; i < model.weights.size(); ++i) {
    EXPECT_EQ(program.tensors[i].name, model.weights[i].name);
    const Tensor& master = named(program, model.weights[i].name + ".master");
    EXPECT_EQ(master.weight, i);
    EXPECT_EQ(master.layer, model.weights[i].layer);
  }
}

TEST(StepProgram, WholeLogitsTakeTwoAndFourBytesAndTheirGradientNoMore) {
  Workload w = workload(2, 16);
  w.loss = description::LossKind::in_place;
  const StepProgram mixed = build_step_program(from_config(tiny_gpt2), w);
  const std::uint64_t words = 32 * 100;
  EXPECT_EQ(total(mixed, TensorRole::logits).value(), (2 + 4) * words);
  EXPECT_EQ(named(mixed, "head.logits").bytes.value(), 2 * words);
  EXPECT_EQ(named(mixed, "head.softmax").bytes.value(), 4 * words);
  w.precision = Precision::fp16;  // the loss in 16 bit too
  EXPECT_EQ(total(build_step_program(from_config(tiny_gpt2), w), TensorRole::logits).value(),
            (2 + 2) * words);
  w.precision = Precision::fp32;
  EXPECT_EQ(total(build_step_program(from_config(tiny_gpt2), w), TensorRole::logits).value(),
            (4 + 4) * words);
}

/// What ForCausalLMLoss of Hugging Face transformers has at once for each logit: forward 2 (bf16) +
/// 4 (float copy) + 4 (log-softmax), backward 2 + 4 (log-softmax) + 2 x 4 (two gradients).
TEST(StepProgram, APlainLossTakesTenBytesALogitForwardAndFourteenBackward) {
  Workload w = workload(2, 16);
  w.loss = description::LossKind::plain;
  for (const Precision precision : {Precision::bf16_mixed, Precision::bf16}) {
    w.precision = precision;
    const StepProgram program = build_step_program(from_config(tiny_gpt2), w);
    const std::uint64_t words = 32 * 100;
    std::uint64_t forward = 0, backward = 0;
    for (const Operator& op : program.operators) {
      if (op.function == OperatorFunction::whole_loss) forward = op.workspace.value();
      if (op.function == OperatorFunction::whole_loss_backward) backward = op.workspace.value();
    }
    EXPECT_EQ(total(program, TensorRole::logits).value() + forward, 10 * words);
    EXPECT_EQ(total(program, TensorRole::logits).value() + backward, 14 * words);
  }
}

/// Logits in 16 bit, and in backward the gradient of an eighth of them.
TEST(StepProgram, AChunkedLossTakesTwoBytesALogitAndTwoOfAnEighth) {
  Workload w = workload(2, 16);
  w.precision = Precision::bf16;
  w.loss = description::LossKind::chunked;
  const StepProgram program = build_step_program(from_config(tiny_gpt2), w);
  const std::uint64_t words = 32 * 100;
  EXPECT_EQ(total(program, TensorRole::logits).value(), 2 * words);
  std::vector<std::uint64_t> workspaces;
  for (const Operator& op : program.operators)
    if (op.kind == OperatorKind::loss) workspaces.push_back(op.workspace.value());
  EXPECT_THAT(workspaces, testing::ElementsAre(0u, 2 * words / 8));
}

/// h 64, f 96, two layers; 32 tokens in 4 tiles: gate, up and product of 8 tokens, and in backward
/// the gradient of the product. What a tile made is made again: three products more in each layer.
TEST(StepProgram, AFeedForwardInTilesKeepsItsInputAlone) {
  const Model model = from_config(tiny_llama);
  Workload w = workload(2, 16);
  const StepProgram whole = build_step_program(model, w);
  w.mlp_tiles = 4;
  const StepProgram tiled = build_step_program(model, w);
  const std::uint64_t inner = 8 * 96 * 2;
  std::vector<std::uint64_t> workspaces;
  for (const Operator& op : tiled.operators) {
    if (op.function == OperatorFunction::tiled_feed_forward) {
      workspaces.push_back(op.workspace.value());
      EXPECT_EQ(op.saved, std::vector<TensorId>{op.operands.front().tensor});
    }
    if (op.function == OperatorFunction::tiled_feed_forward_backward)
      workspaces.push_back(op.workspace.value());
  }
  EXPECT_THAT(workspaces, testing::ElementsAre(3 * inner, 3 * inner, 4 * inner, 4 * inner));
  EXPECT_EQ(tiled.forward_flops(), whole.forward_flops());
  EXPECT_EQ(tiled.flops(tiled.backward).value(),
            whole.flops(whole.backward).value() + 2 * 2.0 * 32 * 64 * 96 * 3);
  const auto saved = [](const StepProgram& program) {
    std::uint64_t bytes = 0;
    for (const TensorId id : program.saved_by(1)) bytes += program.tensors[id].bytes.value();
    return bytes;
  };
  // gate and up for their product, the product for the last matrix
  EXPECT_EQ(saved(whole) - saved(tiled), 3 * 32 * 96 * 2);
}

TEST(StepProgram, OnlyFlashAttentionLeavesOutWhatTheMaskHides) {
  Workload skip = workload(2, 16), whole = skip;
  skip.causal_skip = true;
  skip.attention = whole.attention = Attention::materialized;
  const Model model = from_config(tiny_gpt2);
  EXPECT_EQ(build_step_program(model, skip).forward_flops(),
            build_step_program(model, whole).forward_flops());
}

TEST(StepProgram, TheFusedLossHasTheSameFlopsAndNoLogits) {
  const Model model = from_config(tiny_gpt2);
  Workload whole = workload(2, 16);
  whole.fused_kernels = false;
  const StepProgram fused = build_step_program(model, workload(2, 16));
  EXPECT_EQ(total(fused, TensorRole::logits), Bytes(0));
  EXPECT_EQ(fused.forward_flops(), build_step_program(model, whole).forward_flops());
  // chunks: 100 words / 64 wide, up: 2; 32 tokens / 2 = 16; 16 x 100 x (2 + 4) bytes
  const Operator& loss = fused.operators[fused.forward.last - 1];
  EXPECT_EQ(loss.kind, OperatorKind::loss);
  EXPECT_EQ(loss.workspace.value(), 16u * 100 * 6);
}

TEST(StepProgram, OneTokenWorks) {
  const StepProgram program = build_step_program(from_config(tiny_mixtral), workload(1, 1));
  EXPECT_NO_THROW(check(program));
}

TEST(StepProgram, ASequenceMayFillALearnedTableButNotPassIt) {
  EXPECT_NO_THROW(build_step_program(from_config(tiny_gpt2), workload(1, 16)));
  EXPECT_THROW(build_step_program(from_config(tiny_gpt2), workload(1, 17)),
               description::ScenarioError);
  EXPECT_NO_THROW(build_step_program(from_config(narrow_opt), workload(1, 16)));
  EXPECT_THROW(build_step_program(from_config(narrow_opt), workload(1, 17)),
               description::ScenarioError);
  // llama's rotary positions have no table
  EXPECT_NO_THROW(build_step_program(from_config(tiny_llama), workload(1, 4096)));
}

TEST(StepProgram, ZeroSizesAreRefused) {
  EXPECT_THROW(build_step_program(from_config(tiny_gpt2), workload(0, 16)),
               description::ScenarioError);
  EXPECT_THROW(build_step_program(from_config(tiny_gpt2), workload(1, 0)),
               description::ScenarioError);
  EXPECT_THROW(build_step_program(from_config(tiny_gpt2), workload(1, 16, 0)),
               description::ScenarioError);
}

TEST(StepProgram, SizesThatWouldOverflowAreRefused) {
  EXPECT_THROW(build_step_program(from_config(tiny_llama), workload(1, 1'000'000'000'000)),
               description::ScenarioError);
  EXPECT_THROW(build_step_program(from_config(tiny_llama), workload(UINT64_MAX, 16)),
               description::ScenarioError);
}

TEST(StepProgram, ABlocksBackwardStartsFromTheGradientOfItsOutput) {
  const StepProgram program = build_step_program(from_config(tiny_llama), workload(1, 16));
  for (std::uint32_t layer = 0; layer + 1 < program.layers.size(); ++layer) {
    const LayerSpan& span = program.layers[layer];
    const TensorId output = span.output.value();
    EXPECT_EQ(program.layers[layer + 1].input, output);
    // of the residual stream, which one tensor carries from the last block to the embedding
    const TensorId gradient = span.output_gradient.value();
    EXPECT_EQ(program.tensors[gradient].name, "layers.1.ffn.residual.output.gradient");
    EXPECT_EQ(program.tensors[gradient].bytes, program.tensors[output].bytes);
  }
  EXPECT_FALSE(program.layers.back().output_gradient.has_value());
}

TEST(StepProgram, EveryOperatorSaysWhatItComputes) {
  // rotary, gated, untied, fused: embedding; a block; the head
  const StepProgram program = build_step_program(from_config(tiny_llama), workload(1, 16));
  using enum OperatorFunction;
  const auto functions = [&](Span span) {
    std::vector<OperatorFunction> found;
    for (std::uint32_t i = span.first; i < span.last; ++i)
      found.push_back(program.operators[i].function);
    return found;
  };
  EXPECT_EQ(functions(program.layers[0].forward), (std::vector{embedding}));
  EXPECT_EQ(functions(program.layers[1].forward),
            (std::vector{norm, product, product, product, rotation, attention, product, residual,
                         norm, product, product, gated_product, product, residual}));
  EXPECT_EQ(functions(program.layers[3].forward), (std::vector{norm, fused_loss}));
  EXPECT_EQ(functions(program.layers[3].backward),
            (std::vector{fused_loss_backward, norm_backward}));
}

TEST(StepProgram, WhatDropsElementsHasANumberOfItsOwnInItsLayer) {
  Workload w = workload(1, 16);
  w.dropout = 0.1;
  const StepProgram program = build_step_program(from_config(tiny_gpt2), w);
  const Span block = program.layers[1].forward;
  std::vector<std::uint32_t> draws;
  for (std::uint32_t i = block.first; i < block.last; ++i) {
    const Operator& op = program.operators[i];
    if (op.function == OperatorFunction::attention || op.function == OperatorFunction::residual)
      draws.push_back(op.draw);
    EXPECT_EQ(op.causal, op.function == OperatorFunction::attention);
  }
  EXPECT_EQ(draws, (std::vector<std::uint32_t>{0, 1, 2}));
  // flash keeps no mask: the backward draws the forward's numbers again
  for (std::uint32_t i = program.backward.first; i < program.backward.last; ++i)
    if (program.operators[i].function == OperatorFunction::attention_backward) {
      EXPECT_EQ(program.operators[i].draw, 0u);
      EXPECT_TRUE(program.operators[i].causal);
    }
}

TEST(StepProgram, FlashAttentionSumsTheQueryGradientInFp32) {
  const StepProgram program = build_step_program(from_config(tiny_gpt2), workload(2, 16));
  for (std::uint32_t i = program.backward.first; i < program.backward.last; ++i) {
    const Operator& op = program.operators[i];
    if (op.kind == OperatorKind::attention) {
      EXPECT_EQ(op.workspace.value(), 32u * 64 * 4);
    }
  }
}

TEST(StepProgram, MaterializedScoresAreScratch) {
  Workload w = workload(2, 16);
  w.attention = Attention::materialized;
  const StepProgram program = build_step_program(from_config(tiny_gpt2), w);
  int found = 0;
  for (std::uint32_t i = 0; i < program.forward.last; ++i)
    if (program.operators[i].kind == OperatorKind::attention) {
      EXPECT_EQ(program.operators[i].workspace.value(), 2u * 4 * 16 * 16 * 2);  // a s^2 b, 16 bit
      ++found;
    }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace spillway::models::step_program_test
