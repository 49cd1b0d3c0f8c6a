#pragma once

#include "hw_backend/arithmetic/random.hpp"
#include "hw_backend/cpu/optimizer_step.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spillway::hw_backend {

/// How a momentum or a variance lies in 8 bits, in as many bytes as models::NumberFormat counts: a
/// code for each number, then an fp32 scale for each block of them, its largest magnitude. A number
/// is the level of its code times the scale of its block.
///   Levels  in seven decades, of each as many as its place among them: close to 0 for small ones
///   Zeros   all bytes 0 are all numbers 0
///   Source  Dettmers et al.: 8-bit Optimizers via Block-wise Quantization (2022), 2.1 and 3;
///           bitsandbytes, create_dynamic_map
struct PackedState {
  static constexpr std::uint64_t block = 256;

  std::byte* data = nullptr;
  std::uint64_t n = 0;
  bool is_signed = false;  ///< a momentum

  SPILLWAY_ANYWHERE static constexpr std::uint64_t bytes(std::uint64_t n) {
    return n + 4 * ((n + block - 1) / block);
  }
  /// How many numbers have so many bytes.
  SPILLWAY_ANYWHERE static constexpr std::uint64_t numbers(std::uint64_t bytes) {
    return bytes - 4 * ((bytes + block + 3) / (block + 4));
  }
  SPILLWAY_ANYWHERE float scale(std::uint64_t of_block) const {
    float value = 0;
    std::memcpy(&value, data + n + 4 * of_block, sizeof value);
    return value;
  }
  SPILLWAY_ANYWHERE void set_scale(std::uint64_t of_block, float value) const {
    std::memcpy(data + n + 4 * of_block, &value, sizeof value);
  }
};

namespace packed_states {

/// The largest level of each decade, but for half a step. No array, which threads of a GPU would
/// each have in memory.
SPILLWAY_ANYWHERE inline float decade_of(unsigned number) {
  switch (number) {
    case 0:
      return 1e-6f;
    case 1:
      return 1e-5f;
    case 2:
      return 1e-4f;
    case 3:
      return 1e-3f;
    case 4:
      return 1e-2f;
    case 5:
      return 1e-1f;
    default:
      return 1.0f;
  }
}

/// Level `rank` of those above 0 and below 1, from the smallest on.
SPILLWAY_ANYWHERE inline float level_above_zero(unsigned rank, bool is_signed) {
  const unsigned offset = is_signed ? 1 : 2;  // of a decade's first level, which is a power of two
  unsigned decade = 0;
  while (2 * (offset << decade) <= rank + offset) ++decade;
  const unsigned levels = offset << decade;
  const float place =
      (static_cast<float>(rank + offset - levels) + 0.5f) / static_cast<float>(levels);
  return decade_of(decade) * (0.1f + 0.9f * place);
}

/// Codes ascend with their levels; 255 is 1. Signed, 127 is 0; else 0 is.
SPILLWAY_ANYWHERE inline float level(unsigned code, bool is_signed) {
  if (code == 255) return 1.0f;
  if (!is_signed) return code == 0 ? 0.0f : level_above_zero(code - 1, false);
  if (code == 127) return 0.0f;
  return code > 127 ? level_above_zero(code - 128, true) : -level_above_zero(126 - code, true);
}

/// Of the level that is nearest; of no number, 0.
SPILLWAY_ANYWHERE inline unsigned code(float value, bool is_signed) {
  unsigned below = 0;
  for (unsigned bit = 128; bit > 0; bit /= 2) {
    const unsigned next = below | bit;
    if (value > (level(next - 1, is_signed) + level(next, is_signed)) * 0.5f) below = next;
  }
  return below;
}

/// The larger of two magnitudes; what is no number is smaller than any.
SPILLWAY_ANYWHERE inline float larger(float largest, float value) {
  const float magnitude = value < 0 ? -value : value;
  return magnitude > largest ? magnitude : largest;
}

}  // namespace packed_states

/// Number `i`, whose block has the scale.
SPILLWAY_ANYWHERE inline float packed_number(const PackedState& state, std::uint64_t i,
                                             float scale) {
  return packed_states::level(static_cast<unsigned>(state.data[i]), state.is_signed) * scale;
}

SPILLWAY_ANYWHERE inline void pack_number(const PackedState& state, std::uint64_t i, float value,
                                          float scale) {
  const float share = scale > 0 ? value / scale : 0.0f;
  state.data[i] = static_cast<std::byte>(packed_states::code(share, state.is_signed));
}

/// What an Adam step with states in 8 bits works on, otherwise as AdamArrays.
struct PackedAdamArrays {
  Array master;
  PackedState momentum, variance;
  ConstArray gradient;
  std::optional<Array> weight;
  std::uint64_t n = 0;
};

}  // namespace spillway::hw_backend
