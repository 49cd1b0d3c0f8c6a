#include "models/program/split_backward.hpp"

#include "models/program/check.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"
#include "tests/models/type_configs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

/// Backwards of which gradients of weights are left for later.
namespace spillway::models::split_backward_test {
namespace {

Workload workload(std::uint64_t tensor = 1) {
  Workload w;
  w.sequence = 16;
  w.tensor = tensor;
  w.loss = description::LossKind::fused;
  w.splits_backward = true;
  return w;
}

StepProgram whole(const Model& model, Workload w) {
  w.splits_backward = false;
  return build_step_program(model, w);
}

std::vector<std::string> names(const StepProgram& program, Span span) {
  std::vector<std::string> all;
  for (std::uint32_t i = span.first; i < span.last; ++i) all.push_back(program.operators[i].name);
  return all;
}

TEST(SplitBackward, LeavesTheProductsOfWeightsForLater) {
  const StepProgram program = build_step_program(from_config(tiny_llama), workload());
  check(program);
  const LayerSpan& layer = program.layers[1];
  const std::string block = "layers.0.";
  // query, key, value, projection, gate, up, down
  EXPECT_EQ(layer.weights_apart, 7u);
  for (const std::string& name : names(program, layer.weight_gradients()))
    EXPECT_TRUE(name.ends_with(".wgrad")) << name;
  for (const std::string& name : names(program, layer.input_gradients()))
    EXPECT_FALSE(name.ends_with(".wgrad")) << name;
}

// The gradient that goes down the residual stream grows behind the product that reads it.
TEST(SplitBackward, CopiesTheGradientsThatLaterOperatorsAddTo) {
  const StepProgram program = build_step_program(from_config(tiny_llama), workload());
  std::size_t copies = 0;
  for (const Operator& op : program.operators) copies += op.name.ends_with(".kept");
  // of each block those that down and the projection read; a block's 16 x 64 numbers of 2 B
  EXPECT_EQ(copies, 2 * (program.layers.size() - 2));
  for (const Operator& op : program.operators)
    if (op.name.ends_with(".kept")) {
      EXPECT_EQ(op.bytes.value(), 2u * 16 * 64 * 2);
    }
}

TEST(SplitBackward, KeepsTheFlopsTheReadsAndTheOrder) {
  std::size_t split = 0;
  for (const TypeConfig& type : type_configs)
    for (const std::uint64_t tensor : {1u, 2u}) {
      SCOPED_TRACE(type.name);
      const Model model = from_config(type.json);
      Workload w = workload(tensor);
      try {
        const StepProgram before = whole(model, w), after = build_step_program(model, w);
        check(after);
        EXPECT_DOUBLE_EQ(after.flops(after.backward).value(),
                         before.flops(before.backward).value());
        EXPECT_EQ(after.update.last - after.update.first, before.update.last - before.update.first);
        ++split;
      } catch (const description::ScenarioError&) {  // heads that do not divide
      }
    }
  EXPECT_GT(split, 60u);
}

// No operator of the first half needs what the second makes.
TEST(SplitBackward, LetsTheFirstHalvesOfAllLayersRunAlone) {
  for (const TypeConfig& type : type_configs) {
    SCOPED_TRACE(type.name);
    const StepProgram program = build_step_program(from_config(type.json), workload());
    std::set<TensorId> late;
    for (const LayerSpan& layer : program.layers) {
      const Span span = layer.weight_gradients();
      for (std::uint32_t i = span.first; i < span.last; ++i)
        for (const Operand& operand : program.operators[i].operands)
          if (operand.access != Access::read) late.insert(operand.tensor);
    }
    for (std::size_t l = program.layers.size(); l-- > 0;) {
      const Span span = program.layers[l].input_gradients();
      for (std::uint32_t i = span.first; i < span.last; ++i)
        for (const Operand& operand : program.operators[i].operands)
          EXPECT_FALSE(late.contains(operand.tensor)) << program.tensors[operand.tensor].name;
    }
  }
}

TEST(SplitBackward, GathersTokensAgainOnlyForLater) {
  Workload w = workload(2);
  w.sequence_parallel = true;
  const StepProgram program = build_step_program(from_config(tiny_llama), w);
  check(program);
  const auto late = names(program, program.layers[1].weight_gradients());
  EXPECT_EQ(std::count_if(late.begin(), late.end(),
                          [](const std::string& name) { return name.ends_with("gather_again"); }),
            2);
}

TEST(SplitBackward, LeavesLogitsAlone) {
  Workload w = workload();
  w.loss = description::LossKind::plain;
  const StepProgram program = build_step_program(from_config(tiny_llama), w);
  check(program);
  EXPECT_EQ(program.layers.back().weights_apart, 0u);
}

}  // namespace
}  // namespace spillway::models::split_backward_test
