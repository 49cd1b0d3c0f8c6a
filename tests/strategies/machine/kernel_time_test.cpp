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

}  // namespace
}  // namespace spillway::strategies
