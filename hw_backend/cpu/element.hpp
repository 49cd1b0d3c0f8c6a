#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

/// Number formats in memory. Every conversion, on every instruction set and device, gives the bits
/// that the functions here give; they are constexpr so that CUDA code may call them too.
namespace spillway::hw_backend {

enum class Element : std::uint8_t { fp32, fp16, bf16 };

constexpr std::size_t size_of(Element type) { return type == Element::fp32 ? 4 : 2; }

constexpr std::string_view to_string(Element type) {
  return type == Element::fp32 ? "fp32" : type == Element::fp16 ? "fp16" : "bf16";
}

/// What lies where: n elements of `type` from `data` on, n known from elsewhere. Elements lie at
/// multiples of their size; nothing else is asked of `data`.
struct Array {
  std::byte* data = nullptr;
  Element type = Element::fp32;
};

/// The same, to be read only.
struct ConstArray {
  const std::byte* data = nullptr;
  Element type = Element::fp32;

  constexpr ConstArray() = default;
  constexpr ConstArray(const std::byte* from, Element of) : data(from), type(of) {}
  constexpr ConstArray(const Array& array) : data(array.data), type(array.type) {}
};

/// Exact. A NaN keeps sign and payload and becomes quiet, as x86's vcvtph2ps does.
constexpr float fp16_to_fp32(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1Fu;
  std::uint32_t fraction = half & 0x3FFu;
  if (exponent == 0x1F) {
    const std::uint32_t quiet = fraction != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7F800000u | quiet | (fraction << 13));
  }
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  }
  if (fraction == 0) return std::bit_cast<float>(sign);
  const int shift = std::countl_zero(fraction) - 21;  // puts the leading one at bit 10
  fraction = (fraction << shift) & 0x3FFu;
  return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(113 - shift) << 23) |
                              (fraction << 13));
}

/// Nearest, ties to even; beyond 65519.99 infinity, subnormals kept. A NaN keeps its sign and the
/// upper payload and becomes quiet, as x86's vcvtps2ph does.
constexpr std::uint16_t fp32_to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return static_cast<std::uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
  }
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (magnitude >= 0x38800000u) {  // normal: a carry out of the fraction raises the exponent
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
  }
  if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);  // under half of 2^-24
  const std::uint32_t shift = 126u - (magnitude >> 23);                  // 14 to 24
  const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
  const std::uint32_t odd = (significand >> shift) & 1u;
  const std::uint32_t half = 1u << (shift - 1);
  return static_cast<std::uint16_t>(sign | ((significand + half - 1 + odd) >> shift));
}

/// Exact; a signalling NaN stays one.
constexpr float bf16_to_fp32(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Nearest, ties to even; subnormals kept. A NaN keeps its sign and upper payload, becomes quiet.
constexpr std::uint16_t fp32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// Element `index` of `array` as fp32.
inline float load(ConstArray array, std::size_t index) {
  const std::byte* from = array.data + index * size_of(array.type);
  if (array.type == Element::fp32) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return array.type == Element::fp16 ? fp16_to_fp32(bits) : bf16_to_fp32(bits);
}

/// Rounds `value` into element `index` of `array`.
inline void store(Array array, std::size_t index, float value) {
  std::byte* into = array.data + index * size_of(array.type);
  if (array.type == Element::fp32) {
    std::memcpy(into, &value, sizeof value);
    return;
  }
  const std::uint16_t bits =
      array.type == Element::fp16 ? fp32_to_fp16(value) : fp32_to_bf16(value);
  std::memcpy(into, &bits, sizeof bits);
}

}  // namespace spillway::hw_backend
