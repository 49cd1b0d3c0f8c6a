#include "models/program/check.hpp"
#include "models/program/step_program.hpp"
#include "tests/models/configs.hpp"

#include <gtest/gtest.h>

namespace spillway::models {
namespace {

struct Shape {
  const char* name;
  std::uint64_t layers, width;
};
constexpr Shape shapes[] = {{"dit-0.67b", 28, 1152}, {"dit-0.9b", 30, 1280}, {"dit-1.4b", 32, 1536},
                            {"dit-10b", 28, 4096},   {"dit-20b", 40, 5120},  {"dit-40b", 48, 7168}};

TEST(DiffusionModel, HasTheParametersOfItsParts) {
  // a block: attention 4 h^2, MLP 8 h^2, adaLN-Zero 6 h^2, biases 15 h; outside: patches 17 h, time
  // h^2 + 258 h, labels 1001 h, final layer 2 h^2 + 34 h + 32
  for (const auto& [name, layers, h] : shapes)
    EXPECT_EQ(from_library(name).parameters.value(), layers * (18 * h * h + 15 * h) + 17 * h +
                                                         h * h + 258 * h + 1001 * h + 2 * h * h +
                                                         34 * h + 32)
        << name;
  EXPECT_EQ(from_library("dit-0.67b").parameters.value(), 674'834'720u);
}

TEST(DiffusionModel, ModulatesOnceASampleNotOnceAToken) {
  // T = 4 x 1024 tokens, B = 4 samples: a block 24 T h^2 + 4 T s h + 12 B h^2; outside 32 T h
  // (patches), 2 B (256 h + h^2) (time), 4 B h^2 + 64 T h (final layer)
  const double b = 4, s = 1024, t = b * s, h = 1152;
  Workload w;
  w.micro_batch = 4;
  w.sequence = 1024;
  const StepProgram program = build_step_program(from_library("dit-0.67b"), w);
  const double block = 24 * t * h * h + 4 * t * s * h + 12 * b * h * h;
  const double outside = 32 * t * h + 2 * b * (256 * h + h * h) + 4 * b * h * h + 64 * t * h;
  EXPECT_DOUBLE_EQ(program.forward_flops().value(), 28 * block + outside);
  // twice that back, but for the inputs, which need no gradient: 32 T h and 512 B h less
  EXPECT_DOUBLE_EQ(program.flops(program.backward).value(),
                   2 * (28 * block + outside) - 32 * t * h - 512 * b * h);
}

TEST(DiffusionModel, BlocksSaveTheConditionThatTheEmbeddingMade) {
  Workload w;
  w.micro_batch = 2;
  const StepProgram program = build_step_program(from_library("dit-0.9b"), w);
  EXPECT_NO_THROW(check(program));
  bool found = false;
  for (const TensorId tensor : program.saved_by(1)) {
    const Tensor& saved = program.tensors[tensor];
    if (saved.layer != 0 || saved.elements != 2 * 1280) continue;
    found = true;
    EXPECT_TRUE(saved.is_residual) << saved.name;  // checkpointing keeps it
  }
  EXPECT_TRUE(found);
}

TEST(DiffusionModel, SplitsItsHeadsOverTensorRanks) {
  Workload w;
  w.tensor = 4;
  EXPECT_NO_THROW(check(build_step_program(from_library("dit-0.9b"), w)));
}

}  // namespace
}  // namespace spillway::models
