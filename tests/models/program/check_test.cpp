#include "models/program/check.hpp"

#include "scenarios/description/errors.hpp"
#include "tests/models/configs.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>

namespace spillway::models {
namespace {

using description::InternalError;

std::vector<Workload> workloads() {
  std::vector<Workload> all;
  for (const std::uint64_t tensor : {1, 2})
    for (const Attention attention : {Attention::flash, Attention::materialized})
      for (const bool fused : {true, false})
        for (const double dropout : {0.0, 0.1})
          for (const Precision precision :
               {Precision::bf16_mixed, Precision::fp16, Precision::fp32}) {
            Workload w;
            w.sequence = 16;
            w.tensor = tensor;
            w.attention = attention;
            w.fused_kernels = fused;
            w.dropout = dropout;
            w.precision = precision;
            all.push_back(w);
          }
  return all;
}

TEST(Check, EveryWorkloadOfEveryTypeKeepsThePromises) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, tiny_mixtral, narrow_opt}) {
    const Model model = from_config(config);
    for (const Workload& w : workloads()) {
      const StepProgram program = build_step_program(model, w);
      EXPECT_NO_THROW(check(program)) << config;
      EXPECT_DOUBLE_EQ(program.flops(program.backward).value(),
                       2 * program.forward_flops().value());
    }
  }
}

TEST(Check, EveryModelOfTheLibraryKeepsThePromises) {
  const std::filesystem::path library = std::string(SPILLWAY_SOURCE_DIR) + "/models/library";
  int models = 0;
  for (const auto& file : std::filesystem::directory_iterator(library)) {
    if (file.path().extension() != ".json") continue;
    const Model model = from_library(file.path().stem());
    Workload w;
    w.sequence = 512;
    w.micro_batch = 3;
    const StepProgram program = build_step_program(model, w);
    EXPECT_NO_THROW(check(program)) << file.path();
    EXPECT_EQ(program.layers.size(), model.layers.size());
    ++models;
  }
  EXPECT_GT(models, 130);
}

class BrokenProgram : public testing::Test {
 protected:
  BrokenProgram() : model_(from_config(tiny_gpt2)) {
    Workload w;
    w.sequence = 16;
    program_ = build_step_program(model_, w);
  }
  Operator& of_kind(OperatorKind kind, Span span) {
    return *std::find_if(program_.operators.begin() + span.first,
                         program_.operators.begin() + span.last,
                         [&](const Operator& op) { return op.kind == kind; });
  }
  Model model_;
  StepProgram program_;
};

TEST_F(BrokenProgram, AnEmptyTensorIsFound) {
  program_.tensors.back().bytes = Bytes(0);
  EXPECT_THROW(check(program_), InternalError);
}

TEST_F(BrokenProgram, AReadBeforeTheWriteIsFound) {
  std::swap(program_.operators[program_.layers[1].forward.first],
            program_.operators[program_.layers[1].forward.first + 1]);
  EXPECT_THROW(check(program_), InternalError);
}

TEST_F(BrokenProgram, ASavedTensorThatNobodyReadsIsFound) {
  Operator& op = of_kind(OperatorKind::matmul, program_.layers[1].forward);
  op.saved.push_back(op.operands.back().tensor);
  op.saved.push_back(program_.layers[1].output.value());
  EXPECT_THROW(check(program_), InternalError);
}

TEST_F(BrokenProgram, ABackwardThatReadsWhatWasNotSavedIsFound) {
  of_kind(OperatorKind::norm, program_.layers[1].forward).saved.pop_back();
  EXPECT_THROW(check(program_), InternalError);
}

TEST_F(BrokenProgram, AWeightWithoutAGradientIsFound) {
  Operator& op = of_kind(OperatorKind::norm, program_.layers[1].backward);
  op.operands.erase(std::find_if(op.operands.begin(), op.operands.end(), [&](const Operand& o) {
    return program_.tensors[o.tensor].role == TensorRole::weight_gradient;
  }));
  EXPECT_THROW(check(program_), InternalError);
}

TEST_F(BrokenProgram, AGapBetweenLayersIsFound) {
  --program_.layers[1].forward.last;
  EXPECT_THROW(check(program_), InternalError);
}

TEST_F(BrokenProgram, AMissingUpdateIsFound) {
  program_.operators.pop_back();
  --program_.update.last;
  EXPECT_THROW(check(program_), InternalError);
}

TEST_F(BrokenProgram, AnOperandNamedTwiceIsFound) {
  Operator& op = program_.operators[program_.layers[1].forward.first];
  op.operands.push_back(op.operands.front());
  EXPECT_THROW(check(program_), InternalError);
}

}  // namespace
}  // namespace spillway::models
