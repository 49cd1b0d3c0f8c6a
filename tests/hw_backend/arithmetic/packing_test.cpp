#include "hw_backend/arithmetic/packing.hpp"
#include "models/program/formats.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <vector>

namespace spillway::hw_backend::packing_test {
namespace {

struct Packed {
  std::vector<float> values, unpacked;
};

Packed packed_and_back(const Packing& packing) {
  Packed result;
  const RandomStream noise = random_stream(RandomUse::initial_values, {});
  for (std::uint64_t i = 0; i < packing.elements; ++i)
    result.values.push_back(initial_value({0, 0.02f}, noise, i));
  std::vector<std::byte> bytes(packing.bytes());
  for (std::uint64_t part = packing.parts(); part-- > 0;)
    pack_part(packing, bytes.data(), part, [&](std::uint64_t i) { return result.values[i]; });
  result.unpacked.resize(packing.elements);
  unpack_some(packing, bytes.data(), 0, packing.elements, result.unpacked.data());
  return result;
}

/// The largest magnitude of the block that element `i` is in.
float largest_beside(const Packing& packing, const std::vector<float>& values, std::uint64_t i) {
  float largest = 0;
  const std::uint64_t first = i / packing.block * packing.block;
  for (std::uint64_t k = first; k < std::min(first + packing.block, packing.elements); ++k)
    largest = std::max(largest, std::abs(values[k]));
  return largest;
}

TEST(Packing, HasTheBytesThatItsFormatCounts) {
  using models::ElementType;
  for (const std::uint64_t elements : {1u, 64u, 65u, 16'384u, 16'385u, 100'001u}) {
    EXPECT_EQ((Packing{elements, 64, 256}).bytes(),
              models::NumberFormat(ElementType::nf4, 64, ElementType::int8, 256).bytes(elements));
    EXPECT_EQ((Packing{elements, 100, 0}).bytes(),
              models::NumberFormat(ElementType::int8, 100).bytes(elements));
  }
}

TEST(Packing, In8BitsIsOffByHalfAStep) {
  const Packing packing{1000, 96, 0};
  const Packed packed = packed_and_back(packing);
  for (std::uint64_t i = 0; i < packing.elements; ++i)
    ASSERT_NEAR(packed.unpacked[i], packed.values[i],
                largest_beside(packing, packed.values, i) / 254 * 1.0001f)
        << i;
}

// Levels are 0.08 to 0.30 apart; a scale is off by half of a 255th of the largest scale.
TEST(Packing, In4BitsIsOffByHalfTheGapBetweenLevels) {
  const Packing packing{40'001, 64, 256};
  const Packed packed = packed_and_back(packing);
  double off = 0, all = 0;
  for (std::uint64_t i = 0; i < packing.elements; ++i) {
    const float largest = largest_beside(packing, packed.values, i);
    ASSERT_NEAR(packed.unpacked[i], packed.values[i], largest * 0.152f + 0.1f / 500) << i;
    off += std::pow(packed.unpacked[i] - packed.values[i], 2);
    all += std::pow(packed.values[i], 2);
  }
  // of a normal distribution in blocks of 64 the quantisation noise is near a hundredth in power
  EXPECT_LT(off / all, 0.012);
  EXPECT_GT(off / all, 0.004);
}

TEST(Packing, KeepsZerosAndEndsExactly) {
  const Packing packing{64, 64, 256};
  std::vector<std::byte> bytes(packing.bytes());
  pack_part(packing, bytes.data(), 0, [](std::uint64_t i) {
    return i == 0 ? -0.5f : i == 1 ? 0.5f : 0.0f;
  });
  std::vector<float> unpacked(64);
  unpack_some(packing, bytes.data(), 0, 64, unpacked.data());
  EXPECT_EQ(unpacked[0], -0.5f);
  EXPECT_EQ(unpacked[1], 0.5f);
  EXPECT_EQ(std::count(unpacked.begin(), unpacked.end(), 0.0f), 62);
  pack_part(packing, bytes.data(), 0, [](std::uint64_t) { return 0.0f; });
  unpack_some(packing, bytes.data(), 3, 10, unpacked.data());
  EXPECT_EQ(unpacked[0], 0.0f);
}

}  // namespace
}  // namespace spillway::hw_backend::packing_test
