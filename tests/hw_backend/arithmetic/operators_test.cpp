#include "tests/hw_backend/arithmetic/executor.hpp"

#include "scenarios/description/errors.hpp"

#include <gtest/gtest.h>
#include <cmath>

namespace spillway::hw_backend {
namespace {

using models::Attention;

struct Trained {
  double loss;
  std::vector<std::vector<float>> gradients;
};

Trained one_step(const char* config, Attention attention, bool fused, double dropout,
                 models::Precision precision = models::Precision::fp32) {
  models::Workload workload = small_workload(precision);
  workload.attention = attention;
  workload.fused_kernels = fused;
  workload.dropout = dropout;
  Executor run(config, workload);
  const double loss = run.forward();
  run.backward();
  return {loss, run.gradients()};
}

/// Norm of the difference against the norm of the whole.
double distance(const Trained& a, const Trained& b) {
  double difference = 0, whole = 0;
  for (std::size_t weight = 0; weight < a.gradients.size(); ++weight)
    for (std::size_t i = 0; i < a.gradients[weight].size(); ++i) {
      const double x = a.gradients[weight][i], y = b.gradients[weight][i];
      difference += (x - y) * (x - y);
      whole += x * x;
    }
  return std::sqrt(difference / whole);
}

TEST(Operators, MaterializedAttentionEqualsFlashEvenInWhatItDrops) {
  for (const char* config :
       {small_llama, small_gpt2, small_qwen, small_deepseek_v2, small_deepseek_v3})
    for (const double dropout : {0.0, 0.3}) {
      const Trained flash = one_step(config, Attention::flash, true, dropout);
      const Trained whole = one_step(config, Attention::materialized, true, dropout);
      EXPECT_NEAR(flash.loss, whole.loss, 1e-5);
      EXPECT_LT(distance(flash, whole), 1e-5);
    }
}

// Two samples of two documents are four samples of one: positions begin anew, none sees another.
TEST(Operators, DocumentsOfASampleAreSamplesToAttention) {
  models::Workload packed = small_workload(), apart = packed;
  packed.document = 6;
  apart.sequence = 6;
  apart.micro_batch = 4;
  Executor one(small_llama, packed), other(small_llama, apart),
      whole(small_llama, small_workload());
  one.forward();
  whole.forward();
  const models::LayerSpan &embedding = one.program().layers.front(),
                          &head = one.program().layers.back();
  const models::TensorId embedded = *one.program().layers[1].input;
  other.begin();
  other.run(embedding.forward, {});
  Memory& from = one.memory(embedded);
  std::copy_n(from.data(), from.size(), other.memory(embedded).data());
  other.run({embedding.forward.last, head.forward.first}, {});
  const auto hidden = [&](Executor& run) { return run.memory(*head.input).copy(); };
  EXPECT_EQ(hidden(one), hidden(other));
  EXPECT_NE(hidden(one), hidden(whole));
}

TEST(Operators, FlashAttentionDropsTheSameInRowsThatNoFourDivides) {
  models::Workload workload = small_workload();
  workload.sequence = 11;  // one random_words has four elements' numbers
  workload.dropout = 0.3;
  Executor flash(small_llama, workload);
  workload.attention = Attention::materialized;
  Executor whole(small_llama, workload);
  EXPECT_NEAR(flash.forward(), whole.forward(), 1e-5);
  flash.backward();
  whole.backward();
  EXPECT_LT(distance({0, whole.gradients()}, {0, flash.gradients()}), 1e-5);
}

TEST(Operators, ASavedTensorThatIsLostChangesAGradient) {
  for (const char* config : {small_llama, small_gpt2, small_deepseek_v2, small_deepseek_v3})
    for (const Attention attention : {Attention::flash, Attention::materialized}) {
      models::Workload workload = small_workload();
      workload.attention = attention;
      workload.fused_kernels = attention == Attention::flash;
      workload.dropout = 0.2;
      Executor run(config, workload);
      run.forward();
      run.backward();
      const auto right = run.gradients();
      for (std::uint32_t layer = 0; layer < run.model().layers.size(); ++layer)
        for (const models::TensorId tensor : run.program().saved_by(layer)) {
          const models::Tensor& saved = run.program().tensors[tensor];
          // its place is all that the backward takes of it
          if (saved.role == models::TensorRole::logits && saved.name.ends_with("logits")) continue;
          run.forward();
          std::fill_n(run.memory(tensor).data(), saved.bytes.value(), std::byte{0});
          run.backward();
          EXPECT_NE(run.gradients(), right) << saved.name;
        }
    }
}

TEST(Operators, TheFusedLossEqualsTheWholeOne) {
  for (const char* config : {small_llama, small_gpt2}) {
    const Trained fused = one_step(config, Attention::flash, true, 0);
    const Trained whole = one_step(config, Attention::flash, false, 0);
    EXPECT_NEAR(fused.loss, whole.loss, 1e-6);
    EXPECT_LT(distance(fused, whole), 1e-5);
  }
}

TEST(Operators, SixteenBitGradientsAreNearThoseOfFp32) {
  using models::Precision;
  for (const char* config : {small_llama, small_gpt2, norm_last_opt, small_deepseek_v2})
    for (const Attention attention : {Attention::flash, Attention::materialized})
      for (const bool fused : {true, false}) {
        const Trained exact = one_step(config, attention, fused, 0);
        // 8 and 11 bits of significand, a few roundings one after the other
        const Trained bf16 = one_step(config, attention, fused, 0, Precision::bf16_mixed);
        EXPECT_NEAR(bf16.loss, exact.loss, 0.01);
        EXPECT_LT(distance(exact, bf16), 0.03);
        const Trained pure = one_step(config, attention, fused, 0, Precision::bf16);
        EXPECT_LT(distance(exact, pure), 0.03);
        const Trained fp16 = one_step(config, attention, fused, 0, Precision::fp16_mixed);
        EXPECT_NEAR(fp16.loss, exact.loss, 0.001);
        EXPECT_LT(distance(exact, fp16), 0.005);
      }
}

TEST(Operators, TheLossOfUntrainedWeightsIsNearTheLogarithmOfTheWords) {
  EXPECT_NEAR(one_step(small_llama, Attention::flash, true, 0).loss, std::log(50), 0.1);
}

TEST(Operators, ALossScaleMultipliesEveryGradient) {
  Executor run(small_llama, small_workload());
  run.forward();
  run.backward();
  const auto plain = run.gradients();
  Moment scaled;
  scaled.loss_scale = 1024;
  const double loss = run.forward(scaled);
  run.backward(scaled);
  const auto large = run.gradients();
  EXPECT_NEAR(loss, std::log(50), 0.1);  // the loss itself is not scaled
  // a power of two: exact
  for (std::size_t weight = 0; weight < plain.size(); ++weight)
    for (std::size_t i = 0; i < plain[weight].size(); ++i)
      ASSERT_EQ(large[weight][i], 1024 * plain[weight][i]);
}

TEST(Operators, EveryMomentHasItsOwnText) {
  Executor run(small_llama, small_workload());
  const double first = run.forward({0, 0, 0, 1});
  EXPECT_EQ(run.forward({0, 0, 0, 1}), first);
  EXPECT_NE(run.forward({1, 0, 0, 1}), first);
  EXPECT_NE(run.forward({0, 1, 0, 1}), first);
  EXPECT_NE(run.forward({0, 0, 1, 1}), first);
}

TEST(Operators, AChunkOfTheFusedLossMayBeTheLastAndShort) {
  // 24 tokens, 50 words, width 24: 50 / 24 rounded up is 3 parts, chunks of 8 tokens; with 20
  // tokens the last has 4
  models::Workload workload = small_workload();
  workload.sequence = 10;
  Executor fused(small_llama, workload);
  workload.fused_kernels = false;
  Executor whole(small_llama, workload);
  EXPECT_NEAR(fused.forward(), whole.forward(), 1e-6);
  fused.backward();
  whole.backward();
  EXPECT_LT(distance({0, whole.gradients()}, {0, fused.gradients()}), 1e-5);
}

TEST(Operators, AnUpdateOrAMissingOperandIsOurMistake) {
  const models::Model model = model_of(small_llama);
  const models::StepProgram program = models::build_step_program(model, small_workload());
  HostPrimitives device;
  const Lowering lowering{&model, &program, 1};
  EXPECT_THROW(
      execute(device, lowering, program.operators[program.update.first], {}, nullptr, {}, nullptr),
      description::InternalError);
  EXPECT_THROW(execute(device, lowering, program.operators[0], {}, nullptr, {}, nullptr),
               description::InternalError);
}

}  // namespace
}  // namespace spillway::hw_backend
