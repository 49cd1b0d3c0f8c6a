#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gmock/gmock.h>

namespace spillway::models::tensor_split_test {
namespace {

Workload workload(std::uint64_t micro_batch, std::uint64_t sequence, std::uint64_t tensor = 1) {
  Workload w;
  w.micro_batch = micro_batch;
  w.sequence = sequence;
  w.tensor = tensor;
  return w;
}

int count(const StepProgram& program, Span span, OperatorKind kind) {
  int found = 0;
  for (std::uint32_t i = span.first; i < span.last; ++i) found += program.operators[i].kind == kind;
  return found;
}

const Tensor& named(const StepProgram& program, const std::string& name) {
  for (const Tensor& tensor : program.tensors)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

TEST(TensorSplit, ForwardFlopsShrinkWithTensorRanks) {
  // words 100 / 2; nothing of a llama's matrices is whole on a rank
  const Model model = from_config(tiny_llama);
  EXPECT_DOUBLE_EQ(build_step_program(model, workload(2, 16, 2)).forward_flops().value() * 2,
                   build_step_program(model, workload(2, 16)).forward_flops().value());
}

TEST(TensorSplit, TensorRanksShareMatricesAndWordsButNotNorms) {
  const StepProgram program = build_step_program(from_config(tiny_gpt2), workload(1, 16, 4));
  // 16-bit; 100 words over 4 ranks: 25
  EXPECT_EQ(named(program, "transformer.wte.weight").elements, 25u * 64);
  EXPECT_EQ(named(program, "transformer.wpe.weight").elements, 16u * 64);
  EXPECT_EQ(named(program, "transformer.h.0.attn.c_attn.weight").elements, 64u * 192 / 4);
  EXPECT_EQ(named(program, "transformer.h.0.attn.c_attn.bias").elements, 192u / 4);
  EXPECT_EQ(named(program, "transformer.h.0.attn.c_proj.weight").elements, 64u * 64 / 4);
  EXPECT_EQ(named(program, "transformer.h.0.attn.c_proj.bias").elements, 64u);
  EXPECT_EQ(named(program, "transformer.h.0.ln_1.weight").elements, 64u);
}

TEST(TensorSplit, AVocabularyThatDoesNotDivideIsPadded) {
  const Model model = from_config(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 1,
      "n_head": 4, "n_positions": 16, "vocab_size": 101})");
  const StepProgram program = build_step_program(model, workload(1, 16, 2));
  EXPECT_EQ(named(program, "transformer.wte.weight").elements, 51u * 64);
}

TEST(TensorSplit, TwoAllReducesALayerAndDirection) {
  // and one behind the embedding, one for the gradient that leaves the head
  const StepProgram split = build_step_program(from_config(tiny_gpt2), workload(1, 16, 2));
  EXPECT_EQ(count(split, split.forward, OperatorKind::all_reduce), 2 * 2 + 1);
  EXPECT_EQ(count(split, split.backward, OperatorKind::all_reduce), 2 * 2 + 1);
  EXPECT_EQ(count(split, split.layers[1].forward, OperatorKind::all_reduce), 2);
  EXPECT_EQ(count(split, split.layers[1].backward, OperatorKind::all_reduce), 2);
  const StepProgram whole = build_step_program(from_config(tiny_gpt2), workload(1, 16));
  EXPECT_EQ(count(whole, {0, whole.update.last}, OperatorKind::all_reduce), 0);
}

// Logits of a token lie on all ranks: two numbers of each go round, and one is kept.
TEST(TensorSplit, LossesMeetByTwoNumbersATokenAndRank) {
  for (const auto loss : {description::LossKind::fused, description::LossKind::chunked,
                          description::LossKind::plain}) {
    Workload w = workload(2, 16, 4);
    w.loss = loss;
    const StepProgram program = build_step_program(from_config(tiny_gpt2), w);
    check(program);
    EXPECT_EQ(named(program, "head.loss.statistics").bytes, Bytes(2 * 16 * 2 * 4));
    EXPECT_EQ(named(program, "head.loss.all_statistics").bytes, Bytes(4 * 2 * 16 * 2 * 4));
    EXPECT_EQ(named(program, "head.loss.shares").bytes, Bytes(2 * 16 * 4));
    EXPECT_EQ(count(program, program.layers[3].forward, OperatorKind::all_gather), 1);
  }
  const StepProgram whole = build_step_program(from_config(tiny_gpt2), workload(2, 16));
  EXPECT_THROW(named(whole, "head.loss.statistics"), std::runtime_error);
}

/// Names of weights of whose gradients each tensor rank has a part.
std::vector<std::string> partial_gradients(const Model& model, const Workload& w) {
  const StepProgram program = build_step_program(model, w);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.weights.size(); ++i)
    if (program.tensors[model.weights.size() + i].partial) names.push_back(model.weights[i].name);
  return names;
}

TEST(TensorSplit, GradientsOfNormsAreInPartsWhereTokensOrHeadsAre) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  const Model llama = from_config(R"({"model_type": "llama", "hidden_size": 64,
      "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 96,
      "vocab_size": 100})");
  const Model qwen = from_config(R"({"model_type": "qwen3", "hidden_size": 64,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "intermediate_size": 96, "vocab_size": 100})");
  EXPECT_THAT(partial_gradients(llama, workload(1, 16, 2)), IsEmpty());
  EXPECT_THAT(partial_gradients(qwen, workload(1, 16, 1)), IsEmpty());
  EXPECT_THAT(partial_gradients(qwen, workload(1, 16, 2)),
              ElementsAre("model.layers.0.self_attn.q_norm.weight",
                          "model.layers.0.self_attn.k_norm.weight"));
  Workload shared = workload(1, 16, 2);
  shared.sequence_parallel = true;
  EXPECT_THAT(partial_gradients(llama, shared),
              ElementsAre("model.layers.0.input_layernorm.weight",
                          "model.layers.0.post_attention_layernorm.weight", "model.norm.weight"));
}

// Both halves of a block without norms before them add to the gradient of what they read.
TEST(SequenceParallel, WhatIsScatteredIsAddedToAGradientThatIsThere) {
  const Model model = from_config(R"({"model_type": "opt", "hidden_size": 64,
      "num_hidden_layers": 1, "num_attention_heads": 4, "ffn_dim": 96, "vocab_size": 100,
      "max_position_embeddings": 16, "do_layer_norm_before": false})");
  Workload shared = workload(1, 16, 2);
  shared.sequence_parallel = true;
  const StepProgram program = build_step_program(model, shared);
  check(program);
  for (const Operator& op : program.operators)
    if (op.kind == OperatorKind::reduce_scatter) {
      EXPECT_EQ(op.operands.back().access, Access::write) << op.name;
    }
}

/// The same with the tokens of norms and residuals shared.
StepProgram sequence_parallel(const Model& model, std::uint64_t tensor) {
  Workload shared = workload(1, 16, tensor);
  shared.sequence_parallel = true;
  StepProgram program = build_step_program(model, shared);
  check(program);
  return program;
}

TEST(SequenceParallel, GathersBeforeAndScattersBehindEachHalf) {
  const StepProgram program = sequence_parallel(from_config(tiny_gpt2), 2);
  const Span forward = program.layers[1].forward, backward = program.layers[1].backward;
  EXPECT_EQ(count(program, {0, program.update.last}, OperatorKind::all_reduce), 0);
  EXPECT_EQ(count(program, forward, OperatorKind::all_gather), 2);
  EXPECT_EQ(count(program, forward, OperatorKind::reduce_scatter), 2);
  // The gradient of what was scattered is gathered, and the input of its matrices once more.
  EXPECT_EQ(count(program, backward, OperatorKind::all_gather), 2 + 2);
  EXPECT_EQ(count(program, backward, OperatorKind::reduce_scatter), 2);
  // Behind the embedding one is scattered, before the head's matrix one is gathered.
  EXPECT_EQ(count(program, program.layers[0].forward, OperatorKind::reduce_scatter), 1);
  // Behind that, statistics of the logits are.
  EXPECT_EQ(count(program, program.layers[3].forward, OperatorKind::all_gather), 1 + 1);
}

TEST(SequenceParallel, SavesOfWhatRanksDoNotCutTheirShareAlone) {
  // 16 tokens of 64: of two ranks 8 x 64 each; statistics are two numbers a token.
  const StepProgram program = sequence_parallel(from_config(tiny_gpt2), 2);
  EXPECT_EQ(named(program, "layers.0.attention.norm.output").elements, 8u * 64);
  EXPECT_EQ(named(program, "layers.0.attention.norm.statistics").elements, 8u * 2);
  EXPECT_EQ(named(program, "layers.0.ffn.residual.output").elements, 8u * 64);
  for (const TensorId id : program.saved_by(1))
    EXPECT_EQ(program.tensors[id].name.find("gathered"), std::string::npos);
  // Only what the ranks do not cut differs from all-reduces: the products are the same.
  EXPECT_EQ(program.forward_flops(),
            build_step_program(from_config(tiny_gpt2), workload(1, 16, 2)).forward_flops());
}

TEST(SequenceParallel, EveryTypeHasAProgramThatHolds) {
  std::size_t shared = 0;
  for (const TypeConfig& type : type_configs) {
    SCOPED_TRACE(type.name);
    Workload w = workload(1, 16, 2);
    w.sequence_parallel = true;
    const Model model = from_config(type.json);
    try {
      const StepProgram program = build_step_program(model, w);
      check(program);
      EXPECT_EQ(count(program, {0, program.update.last}, OperatorKind::all_reduce), 0);
      ++shared;
    } catch (const description::ScenarioError& error) {
      EXPECT_NE(std::string(error.what()).find("parallel."), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(shared, 30u);
}

TEST(SequenceParallel, AsksForTokensThatDivideAndForADecoder) {
  Workload shared = workload(1, 15, 2);
  shared.sequence_parallel = true;
  EXPECT_THROW(build_step_program(from_config(tiny_gpt2), shared), description::ScenarioError);
  shared.sequence = 16;
  EXPECT_THROW(build_step_program(from_config(tiny_t5), shared), description::ScenarioError);
}

TEST(ContextParallel, EachRankHasItsTokensAndSomeHeadsOfAll) {
  Workload w = workload(1, 16);
  const Model model = from_config(tiny_llama);
  const StepProgram whole = build_step_program(model, w);
  w.context = 2;
  const StepProgram program = build_step_program(model, w);
  check(program);
  // 16 tokens of 64, of two ranks 8; queries, keys, values and the output are exchanged.
  EXPECT_EQ(named(program, "layers.0.attention.norm.output").elements, 8u * 64);
  EXPECT_EQ(named(program, "layers.0.attention.query_heads").elements, 8u * 64);
  EXPECT_EQ(named(program, "layers.0.attention.key_heads").elements, 8u * 32);
  const Span forward = program.layers[1].forward, backward = program.layers[1].backward;
  EXPECT_EQ(count(program, forward, OperatorKind::context_all_to_all), 4);
  EXPECT_EQ(count(program, backward, OperatorKind::context_all_to_all), 4);
  EXPECT_DOUBLE_EQ(program.forward_flops().value() * 2, whole.forward_flops().value());
}

TEST(ContextParallel, AsksForTokensAndHeadsThatDivide) {
  Workload w = workload(1, 15);
  w.context = 2;
  EXPECT_THROW(build_step_program(from_config(tiny_llama), w), description::ScenarioError);
  w = workload(1, 16, 2);  // 2 KV heads over 2 x 2 ranks
  w.context = 2;
  EXPECT_THROW(build_step_program(from_config(tiny_llama), w), description::ScenarioError);
  w = workload(1, 16);
  w.context = 2;
  EXPECT_THROW(build_step_program(from_config(tiny_t5), w), description::ScenarioError);
}

TEST(TensorSplit, ThreeAllReducesInAT5DecoderLayer) {
  const StepProgram program = build_step_program(from_config(tiny_t5), workload(1, 16, 2));
  EXPECT_EQ(count(program, program.layers[4].forward, OperatorKind::all_reduce), 3);
  EXPECT_EQ(count(program, program.layers[4].backward, OperatorKind::all_reduce), 3);
  // the gradient of the encoder output is summed once for all decoder layers
  EXPECT_EQ(count(program, program.layers[3].backward, OperatorKind::all_reduce), 1);
}

TEST(TensorSplit, RanksThatCannotShareHeadsAreRefusedWithEveryReason) {
  // 4 heads and f 96 by 3: heads do not divide, f does; KV heads 2 do not
  try {
    build_step_program(from_config(tiny_llama), workload(1, 16, 3));
    FAIL();
  } catch (const description::ScenarioError& error) {
    ASSERT_EQ(error.complaints().size(), 2u);
    EXPECT_EQ(error.complaints()[0].path, "parallel.tensor");
    EXPECT_THAT(error.complaints()[0].message, testing::HasSubstr("4 attention heads"));
    EXPECT_THAT(error.complaints()[1].message, testing::HasSubstr("2 key and value heads"));
  }
}

}  // namespace
}  // namespace spillway::models::tensor_split_test
