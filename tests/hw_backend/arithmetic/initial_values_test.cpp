#include "tests/hw_backend/arithmetic/executor.hpp"

#include <gtest/gtest.h>
#include <cmath>

namespace spillway::hw_backend {
namespace {

std::vector<float> values(const models::Model& model, std::uint64_t seed, std::uint32_t weight,
                          std::uint64_t first, std::uint64_t count) {
  std::vector<float> into(count);
  initial_values(model, seed, weight, first, count,
                 {reinterpret_cast<std::byte*>(into.data()), Element::fp32, false});
  return into;
}

TEST(InitialValues, NormsBeginAtOneAndBiasesAtZero) {
  const models::Model model = model_of(small_gpt2);
  for (std::uint32_t weight = 0; weight < model.weights.size(); ++weight) {
    const InitialRule rule = initial_rule(model, weight);
    switch (model.weights[weight].kind) {
      case models::WeightKind::norm:
        EXPECT_EQ(values(model, 1, weight, 0, 3), (std::vector<float>{1, 1, 1}));
        break;
      case models::WeightKind::bias:
        EXPECT_EQ(values(model, 1, weight, 0, 3), (std::vector<float>{0, 0, 0}));
        break;
      case models::WeightKind::attention_output:
      case models::WeightKind::ffn_down:
        EXPECT_FLOAT_EQ(rule.deviation, 0.01f);  // 0.02 / sqrt(2 x 2 layers)
        break;
      default:
        EXPECT_FLOAT_EQ(rule.deviation, 0.02f);
    }
  }
}

TEST(InitialValues, AnElementIsTheSameInEveryRange) {
  const models::Model model = model_of(small_llama);
  const std::vector<float> whole = values(model, 3, 0, 0, 1200);  // 50 words x 24
  for (const std::uint64_t first : {1u, 2u, 7u, 1000u}) {
    const std::vector<float> part = values(model, 3, 0, first, 200);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<long>(first)))
        << first;
  }
}

TEST(InitialValues, DependOnSeedAndWeight) {
  const models::Model model = model_of(small_llama);
  EXPECT_NE(values(model, 3, 0, 0, 8), values(model, 4, 0, 0, 8));
  EXPECT_NE(values(model, 3, 0, 0, 8), values(model, 3, 1, 0, 8));
  EXPECT_NE(values(model, 3, 0, 0, 8), values(model, 3, 0, 8, 8));
}

TEST(InitialValues, HaveMeanZeroAndTheRulesDeviation) {
  const RandomStream stream = initial_stream(1, 1);
  double sum = 0, squares = 0;
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) {
    const double value = initial_value({0, 1}, stream, static_cast<std::uint64_t>(i));
    sum += value;
    squares += value * value;
    ASSERT_LT(std::abs(value), 3.5);  // 4 x 32767.5 / 37837
  }
  EXPECT_NEAR(sum / count, 0, 0.015);  // 1 / sqrt(100,000) = 0.003
  EXPECT_NEAR(squares / count, 1, 0.02);
}

TEST(InitialValues, RoundOnceToTheirType) {
  const models::Model model = model_of(small_llama);
  const std::vector<float> wide = values(model, 1, 0, 0, 50);
  std::vector<std::uint16_t> narrow(50);
  initial_values(model, 1, 0, 0, 50,
                 {reinterpret_cast<std::byte*>(narrow.data()), Element::bf16, false});
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(narrow[i], fp32_to_bf16(wide[i]));
}

}  // namespace
}  // namespace spillway::hw_backend
