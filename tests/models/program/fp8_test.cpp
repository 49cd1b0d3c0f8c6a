#include "models/architecture/adapters.hpp"
#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "tests/models/configs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

/// Products of 8-bit copies.
namespace spillway::models::fp8_test {
namespace {

using description::WeightCopies;

Workload workload(Precision precision = Precision::fp8) {
  Workload w;
  w.sequence = 16;
  w.precision = precision;
  return w;
}

const Operator& named(const StepProgram& program, const std::string& name) {
  const auto found =
      std::find_if(program.operators.begin(), program.operators.end(),
                   [&](const Operator& one) { return one.name == "layers.0." + name; });
  EXPECT_NE(found, program.operators.end()) << name;
  return *found;
}

std::uint64_t bytes_of(const StepProgram& program, const std::string& name) {
  return named(program, name).bytes.value();
}

std::uint64_t saved_bytes(const StepProgram& program, std::uint32_t layer) {
  std::uint64_t bytes = 0;
  for (const TensorId id : program.saved_by(layer)) bytes += program.tensors[id].bytes.value();
  return bytes;
}

// A block of tiny_llama, 16 tokens, 64 wide, feed-forward 96. What weight gradients read alone,
// outputs of two norms and the gated product, 2 B a number, takes 1: 16 (64 + 64 + 96) B less. The
// output of attention, which attention's own backward reads, has a copy besides: 16 x 64 B.
TEST(Fp8, SavesInputsOfProductsInOneByte) {
  const Model model = from_config(tiny_llama);
  const StepProgram wide = build_step_program(model, workload(Precision::bf16_mixed));
  const StepProgram program = build_step_program(model, workload());
  EXPECT_EQ(saved_bytes(wide, 1) - saved_bytes(program, 1), 16u * (64 + 64 + 96) - 16 * 64);
  EXPECT_EQ(program.forward_flops(), wide.forward_flops());
}

// Down: 64 x 96 weights, 16 x 96 inputs, 16 x 64 outputs in bf16.
TEST(Fp8, ReadsCopiesThatStay) {
  const StepProgram program = build_step_program(from_config(tiny_llama), workload());
  constexpr std::uint64_t weights = 64 * 96, inputs = 16 * 96, outputs = 16 * 64;
  EXPECT_EQ(bytes_of(program, "ffn.down.weights_fp8"), weights * (2 + 1 + 1));
  EXPECT_EQ(bytes_of(program, "ffn.down.fp8"), inputs * (2 + 1 + 1));
  EXPECT_EQ(bytes_of(program, "ffn.down"), inputs + weights + 2 * outputs);
  EXPECT_EQ(bytes_of(program, "ffn.down.gradient_fp8"), outputs * (2 + 1 + 1));
  EXPECT_EQ(bytes_of(program, "ffn.down.dgrad"), outputs + weights + 2 * inputs);
  EXPECT_EQ(bytes_of(program, "ffn.down.wgrad"), outputs + inputs + 2 * 2 * weights);
  EXPECT_EQ(named(program, "ffn.down").workspace, Bytes());
}

TEST(Fp8, MakesCopiesOfStreamedWeightsForEachUse) {
  Workload w = workload();
  w.fp8.weight_copies = WeightCopies::per_use;
  const StepProgram program = build_step_program(from_config(tiny_llama), w);
  constexpr std::uint64_t weights = 64 * 96, inputs = 16 * 96, outputs = 16 * 64;
  const Operator& down = named(program, "ffn.down");
  EXPECT_EQ(down.workspace, Bytes(weights));
  EXPECT_EQ(down.widened, Bytes(weights * (2 + 1)));
  EXPECT_EQ(down.bytes, Bytes(inputs + weights * (2 + 1 + 1) + 2 * outputs));
  for (const Operator& one : program.operators)
    EXPECT_NE(one.function, OperatorFunction::quantize_weights) << one.name;
}

TEST(Fp8, HasOneCopyWhereProductsReadAnyLayout) {
  Workload w = workload();
  w.fp8.transposes = false;
  const StepProgram program = build_step_program(from_config(tiny_llama), w);
  EXPECT_EQ(bytes_of(program, "ffn.down.weights_fp8"), 64u * 96 * (2 + 1));
  EXPECT_EQ(bytes_of(program, "ffn.down.fp8"), 16u * 96 * (2 + 1));
  const StepProgram twice = build_step_program(from_config(tiny_llama), workload());
  EXPECT_EQ(saved_bytes(program, 1), saved_bytes(twice, 1));
}

// Queries, keys and values read one norm's output; so do gate and up. The head stays as it is.
TEST(Fp8, CopiesAnInputOnceForAllThatReadIt) {
  const StepProgram program = build_step_program(from_config(tiny_llama), workload());
  std::size_t copies = 0, narrow = 0;
  for (std::uint32_t i = program.forward.first; i < program.forward.last; ++i) {
    const Operator& one = program.operators[i];
    copies += one.function == OperatorFunction::quantize;
    narrow += one.fp8;
    EXPECT_FALSE(one.fp8 && one.function != OperatorFunction::product) << one.name;
  }
  EXPECT_EQ(copies, 2u * 4);
  EXPECT_EQ(narrow, 2u * 7);
}

description::Training adapters(bool dora = false) {
  description::Training training;
  training.method = description::Method::lora;
  training.lora.rank = 4;
  training.lora.targets = {description::all_linear_targets};
  training.lora.dora = dora;
  return training;
}

// A frozen base has products of 8-bit copies both ways, and none for its weights: of what it reads,
// and of the gradient of its output, no transposed copy is made, of its weights one is. Adapters
// read and save what they do beside 16-bit products.
TEST(Fp8, OfAFrozenBaseHasNoWeightGradientsBesideAdaptersOf16Bits) {
  const Model model = as_trained(from_config(tiny_llama), adapters());
  const StepProgram program = build_step_program(model, workload());
  constexpr std::uint64_t weights = 64 * 96, inputs = 16 * 96, outputs = 16 * 64, between = 16 * 4;
  EXPECT_EQ(bytes_of(program, "ffn.down.weights_fp8"), weights * (2 + 1 + 1));
  EXPECT_EQ(bytes_of(program, "ffn.down.fp8"), inputs * (2 + 1));
  EXPECT_EQ(bytes_of(program, "ffn.down"), inputs + weights + 2 * outputs);
  EXPECT_EQ(bytes_of(program, "ffn.down.gradient_fp8"), outputs * (2 + 1));
  EXPECT_TRUE(named(program, "ffn.down").fp8 && named(program, "ffn.down.dgrad").fp8);
  EXPECT_EQ(bytes_of(program, "ffn.down.adapter_down"), 2 * (inputs + 4 * 96 + between));
  std::size_t narrow = 0, graded = 0;
  for (const Operator& one : program.operators) {
    narrow += one.fp8;
    graded += one.function == OperatorFunction::product_weight_gradient;
    EXPECT_FALSE(one.fp8 && one.name.find("adapter") != std::string::npos) << one.name;
  }
  EXPECT_EQ(narrow, 2u * 7 * 2);  // forward and the gradient of the input
  EXPECT_EQ(graded, 2u * 7 * 2);  // of A and of B
  const StepProgram wide = build_step_program(model, workload(Precision::bf16_mixed));
  EXPECT_EQ(saved_bytes(program, 1), saved_bytes(wide, 1));
  EXPECT_EQ(program.forward_flops(), wide.forward_flops());
}

// Norms of rows are those of the weight itself, which nobody copies for them.
TEST(Fp8, LeavesTheNormsOfMagnitudesIn16Bits) {
  const Model model = as_trained(from_config(tiny_llama), adapters(true));
  for (const WeightCopies copies : {WeightCopies::kept, WeightCopies::per_use}) {
    Workload w = workload();
    w.fp8.weight_copies = copies;
    const StepProgram program = build_step_program(model, w);
    const StepProgram wide = build_step_program(model, workload(Precision::bf16_mixed));
    const Operator& norms = named(program, "ffn.down.weight_norms");
    EXPECT_EQ(norms.bytes, named(wide, "ffn.down.weight_norms").bytes);
    EXPECT_EQ(norms.workspace, named(wide, "ffn.down.weight_norms").workspace);
  }
}

TEST(Fp8, OfLayersWithoutABackwardHasNoTransposedCopies) {
  description::Training training;
  training.method = description::Method::frozen;
  training.frozen = {"embeddings", "layers.0"};
  const StepProgram program =
      build_step_program(as_trained(from_config(tiny_llama), training), workload());
  EXPECT_EQ(bytes_of(program, "ffn.down.weights_fp8"), 64u * 96 * (2 + 1));
}

TEST(Fp8, KeepsThePromisesOfAStepProgramBesideAdapters) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, tiny_mixtral})
    for (const WeightCopies copies : {WeightCopies::kept, WeightCopies::per_use})
      for (const bool dora : {false, true})
        for (const std::uint64_t tensor : {1, 2}) {
          if (dora && tensor > 1) continue;
          Workload w = workload();
          w.fp8.weight_copies = copies;
          w.tensor = tensor;
          const Model model = as_trained(from_config(config), adapters(dora));
          EXPECT_NO_THROW(check(build_step_program(model, w))) << config << " " << tensor;
        }
}

TEST(Fp8, KeepsThePromisesOfAStepProgram) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, tiny_mixtral, narrow_opt})
    for (const WeightCopies copies : {WeightCopies::kept, WeightCopies::per_use})
      for (const bool transposes : {true, false})
        for (const std::uint64_t tensor : {1, 2}) {
          Workload w = workload();
          w.fp8 = {transposes, copies};
          w.tensor = tensor;
          EXPECT_NO_THROW(check(build_step_program(from_config(config), w)))
              << config << " " << tensor;
        }
}

}  // namespace
}  // namespace spillway::models::fp8_test
