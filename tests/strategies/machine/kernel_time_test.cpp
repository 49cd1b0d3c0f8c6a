#include "strategies/machine/kernel_time.hpp"

#include <gtest/gtest.h>

namespace spillway::strategies {
namespace {

double side(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  models::Operator op;
  op.gemm = {m, n, k, 1};
  return product_side(op);
}

description::GpuSpec card(double half) {
  description::GpuSpec gpu;
  gpu.matrix_half = half;
  return gpu;
}

TEST(ProductShare, GrowsWithTheSideUpToTheReference) {
  // a cube of 6144: 1 / (3 / 6144) = 2048, the reference
  EXPECT_DOUBLE_EQ(side(6144, 6144, 6144), 2048);
  EXPECT_DOUBLE_EQ(product_share(2048, card(512)), 1);
  EXPECT_DOUBLE_EQ(product_share(8192, card(512)), 1);
  // 512 / (512 + 512) of 2048 / (2048 + 512) = 0.5 / 0.8
  EXPECT_DOUBLE_EQ(product_share(512, card(512)), 0.625);
  EXPECT_LT(product_share(64, card(512)), product_share(65, card(512)));
}

TEST(ProductShare, IsWholeWithoutACurveAndWithoutAProduct) {
  EXPECT_DOUBLE_EQ(product_share(64, card(0)), 1);
  EXPECT_DOUBLE_EQ(product_share(0, card(512)), 1);
  EXPECT_DOUBLE_EQ(product_side(models::Operator{}), 0);
}

/// GPT-2's 768 x 3072 with 16 x 1024 tokens: 1 / (1/16384 + 1/768 + 1/3072) = 592; with 384:
/// 0.607 / 0.842 = 0.72.
TEST(ProductShare, OfGpt2IsThreeQuartersOfALargeOne) {
  EXPECT_NEAR(side(16384, 3072, 768), 592, 1);
  EXPECT_NEAR(product_share(side(16384, 3072, 768), card(384)), 0.72, 0.005);
}

/// 512 and 2048 rows by 1024 and 4096 wide.
description::GpuSpec measured() {
  description::GpuSpec gpu = card(384);
  gpu.products = {{512, 1024, 0.2}, {512, 4096, 0.4}, {2048, 1024, 0.6}, {2048, 4096, 1.0}};
  return gpu;
}

TEST(ProductTable, IsReadOnTheLineBetweenItsShapes) {
  EXPECT_DOUBLE_EQ(product_share({2048, 4096}, measured()), 1.0);
  EXPECT_DOUBLE_EQ(product_share({512, 4096}, measured()), 0.4);
  EXPECT_DOUBLE_EQ(product_share({1024, 4096}, measured()), 0.7);  // half-way by logarithms
  EXPECT_DOUBLE_EQ(product_share({512, 2048}, measured()), 0.3);
  EXPECT_DOUBLE_EQ(product_share({1024, 2048}, measured()), 0.55);  // (0.2 + 0.4 + 0.6 + 1) / 4
  EXPECT_DOUBLE_EQ(product_share({1e6, 1e6}, measured()), 1.0);     // beyond it as its largest
}

TEST(ProductTable, GoesOnBelowAsTheHalfRateSizeSays) {
  // sides 1 / (1/256 + 2/1024) = 170.7 and, of its smallest, 1 / (1/512 + 2/1024) = 256:
  // 170.7 / 554.7 = 0.3077 and 256 / 640 = 0.4
  EXPECT_NEAR(product_share({256, 1024}, measured()), 0.2 * 0.30769 / 0.4, 1e-5);
}

TEST(ProductTable, CountsTheTokensOfAWeightsGradientThatAreSummed) {
  models::Operator op;
  op.gemm = {3072, 1024, 16384, 1};
  op.function = models::OperatorFunction::product_weight_gradient;
  EXPECT_EQ(product_shape(op).tokens, 16384);
  EXPECT_DOUBLE_EQ(product_shape(op).width, 1536);  // 2 / (1/3072 + 1/1024)
  op.gemm = {16384, 3072, 1024, 1};
  op.function = models::OperatorFunction::product;
  EXPECT_EQ(product_shape(op).tokens, 16384);
  EXPECT_DOUBLE_EQ(product_shape(op).width, 1536);
}

// 1e12 of 1.1e12 FLOP at 100 TFLOP/s; products of rank 16 beside them, whose side of 15.9 reaches
// 15.9 / 527.9 of what 2048 reaches, 0.8: 0.1e12 at 3.76 TFLOP/s, longer than 4 GB at 1 TB/s. Of
// rank 1024 side 455 would reach 0.588: 1.7 ms, shorter than these 4 ms.
TEST(NarrowProducts, TakeTheirTimeBesideTheWideOnes) {
  description::Scenario scenario;
  scenario.training.precision = description::Precision::bf16;
  scenario.machine.gpu = card(512);
  scenario.machine.gpu.compute["bf16"] = description::FlopsPerSecond(100e12);
  scenario.machine.gpu.memory_rate = description::BytesPerSecond(1e12);
  scenario.machine.gpu.launch = description::Seconds(1e-6);
  models::Operator op;
  op.function = models::OperatorFunction::tiled_feed_forward;
  op.gemm = {1u << 20, 1u << 20, 1u << 20, 1};
  op.flops = models::Flops(1.1e12);
  op.bytes = models::Bytes(5'000'000'000);
  op.narrow = {models::Flops(0.1e12), models::Bytes(4'000'000'000), {4096, 16, 4096}};
  const double side = 1 / (2 / 4096.0 + 1 / 16.0);
  const double share = side / (side + 512) / 0.8;
  EXPECT_DOUBLE_EQ(kernel_seconds(kernel_of_pass(op), scenario),
                   1e12 / 100e12 + 0.1e12 / (share * 100e12) + 2e-6);
  op.narrow.gemm.n = 1024;
  EXPECT_DOUBLE_EQ(kernel_seconds(kernel_of_pass(op), scenario), 0.01 + 4e9 / 1e12 + 2e-6);
}

TEST(ProductTable, TakesThePlaceOfTheHalfRateSize) {
  description::Scenario scenario;
  scenario.training.precision = description::Precision::fp16;
  scenario.machine.gpu = measured();
  scenario.machine.gpu.compute["fp16"] = description::FlopsPerSecond(100e12);
  models::Operator op;
  op.gemm = {512, 4096, 4096, 1};
  op.flops = models::Flops(1'000'000'000'000);
  op.function = models::OperatorFunction::product;
  scenario.machine.gpu.elementwise = description::ElementwiseCost::included;
  scenario.machine.gpu.memory_rate = description::BytesPerSecond(1e12);
  EXPECT_DOUBLE_EQ(kernel_seconds(kernel_of_pass(op), scenario), 1e12 / (0.4 * 100e12));
}

}  // namespace
}  // namespace spillway::strategies
