#include "models/step_program.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"

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
