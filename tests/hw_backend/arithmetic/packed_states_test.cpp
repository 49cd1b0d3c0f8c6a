#include "hw_backend/arithmetic/host_primitives.hpp"
#include "models/program/formats.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <vector>

namespace spillway::hw_backend::packed_states_test {
namespace {

using models::ElementType;

TEST(PackedStates, HaveTheBytesThatTheirFormatCounts) {
  const models::NumberFormat format(ElementType::int8, PackedState::block);
  for (const std::uint64_t n : {1u, 255u, 256u, 257u, 512u, 100'001u}) {
    EXPECT_EQ(PackedState::bytes(n), format.bytes(n));
    EXPECT_EQ(PackedState::numbers(PackedState::bytes(n)), n);
  }
}

// bitsandbytes, create_dynamic_map(signed=True) and (signed=False): ends, and a decade between.
TEST(PackedStates, LevelsAscendInSevenDecades) {
  for (const bool is_signed : {false, true}) {
    for (unsigned code = 1; code < 256; ++code)
      EXPECT_LT(packed_states::level(code - 1, is_signed), packed_states::level(code, is_signed));
    EXPECT_EQ(packed_states::level(255, is_signed), 1.0f);
    EXPECT_FLOAT_EQ(packed_states::level(254, is_signed), is_signed ? 0.99296875f : 0.99648438f);
  }
  EXPECT_EQ(packed_states::level(0, false), 0.0f);
  EXPECT_FLOAT_EQ(packed_states::level(1, false), 3.25e-7f);
  EXPECT_FLOAT_EQ(packed_states::level(2, false), 7.75e-7f);
  EXPECT_EQ(packed_states::level(127, true), 0.0f);
  EXPECT_FLOAT_EQ(packed_states::level(128, true), 5.5e-7f);
  EXPECT_FLOAT_EQ(packed_states::level(126, true), -5.5e-7f);
  EXPECT_FLOAT_EQ(packed_states::level(0, true), -0.99296875f);
}

TEST(PackedStates, ANumberHasTheCodeOfTheNearestLevel) {
  for (const bool is_signed : {false, true})
    for (unsigned code = 0; code < 256; ++code) {
      EXPECT_EQ(packed_states::code(packed_states::level(code, is_signed), is_signed), code);
      const float off = code < 255 ? (packed_states::level(code + 1, is_signed) -
                                      packed_states::level(code, is_signed)) *
                                         0.49f
                                   : 5.0f;
      EXPECT_EQ(packed_states::code(packed_states::level(code, is_signed) + off, is_signed), code);
    }
}

/// Masters after some steps of noisy gradients, with states in `bytes` a number.
std::vector<float> trained(bool in_8_bits, std::uint64_t n) {
  std::vector<float> master(n, 0.5f), momentum(n), variance(n), gradient(n);
  std::vector<std::byte> packed_momentum(PackedState::bytes(n)), packed_variance(packed_momentum);
  HostPrimitives device;
  const auto array = [](std::vector<float>& of) {
    return Array{reinterpret_cast<std::byte*>(of.data()), Element::fp32};
  };
  for (std::uint64_t step = 1; step <= 20; ++step) {
    RandomKey key;
    key.step = step;
    const RandomStream noise = random_stream(RandomUse::initial_values, key);
    for (std::uint64_t i = 0; i < n; ++i)
      gradient[i] = initial_value({i % 3 == 0 ? 0.02f : -0.01f, 0.01f}, noise, i);
    const AdamNumbers numbers = at_step({}, step);
    if (in_8_bits)
      device.adam_in_8_bits({array(master),
                             {packed_momentum.data(), n, true},
                             {packed_variance.data(), n, false},
                             array(gradient),
                             {},
                             n},
                            numbers);
    else
      device.adam({array(master), array(momentum), array(variance), array(gradient), {}, n},
                  numbers);
  }
  return master;
}

// An update is off by the few per cent that a state is.
TEST(PackedStates, TrainNearlyAsWideOnes) {
  const std::uint64_t n = 1000;
  const std::vector<float> wide = trained(false, n), narrow = trained(true, n);
  double off = 0, moved = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    off += std::abs(narrow[i] - wide[i]);
    moved += std::abs(wide[i] - 0.5f);
  }
  EXPECT_GT(off, 0);
  EXPECT_LT(off / moved, 0.03);
}

}  // namespace
}  // namespace spillway::hw_backend::packed_states_test
