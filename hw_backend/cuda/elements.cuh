#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "hw_backend/arithmetic/primitives.hpp"

// What is indexed by a counter must be unrolled, or it is no register.
#ifdef __CUDACC__
#define SPILLWAY_UNROLL _Pragma("unroll")
#else
#define SPILLWAY_UNROLL
#endif

/// Elements of any type in device code: the conversions of hw_backend/cpu/element.hpp, bit for bit,
/// by the instructions that a GPU has for them.
namespace spillway::hw_backend::on_device {

__device__ inline float float_of(std::uint32_t bits) { return __uint_as_float(bits); }
__device__ inline std::uint32_t bits_of(float value) { return __float_as_uint(value); }

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/// The instruction makes one NaN of all.
__device__ inline float fp16_to_fp32(std::uint16_t half) {
  if ((half & 0x7FFFu) > 0x7C00u)
    return float_of(((half & 0x8000u) << 16) | 0x7FC00000u | ((half & 0x3FFu) << 13));
  return __half2float(__ushort_as_half(half));
}

__device__ inline std::uint16_t fp32_to_fp16(float value) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u)
    return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | 0x7E00u |
                                      ((magnitude >> 13) & 0x3FFu));
  return __half_as_ushort(__float2half_rn(value));
}

__device__ inline float bf16_to_fp32(std::uint16_t value) {
  return float_of(static_cast<std::uint32_t>(value) << 16);
}

__device__ inline std::uint16_t fp32_to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

__device__ inline float widened(Element type, std::uint16_t bits) {
  return type == Element::fp16 ? fp16_to_fp32(bits) : bf16_to_fp32(bits);
}
__device__ inline std::uint16_t narrowed(Element type, float value) {
  return type == Element::fp16 ? fp32_to_fp16(value) : fp32_to_bf16(value);
}

/// `value`, any NaN as the canonical one.
__device__ inline float with_canonical_nan(float value) {
  return value == value ? value : float_of(0x7FC00000u);
}

/// What an output that holds `before` holds when `value` is added: both rounded to its type.
__device__ inline float added(Element type, float before, float value) {
  if (type != Element::fp32) value = widened(type, narrowed(type, value));
  return with_canonical_nan(before + value);
}

__device__ inline float get(const std::byte* data, Element type, std::uint64_t i) {
  if (type == Element::fp32) return reinterpret_cast<const float*>(data)[i];
  return widened(type, reinterpret_cast<const std::uint16_t*>(data)[i]);
}
__device__ inline float get(const Input& x, std::uint64_t i) { return get(x.data, x.type, i); }

__device__ inline void put(const Output& y, std::uint64_t i, float value) {
  if (y.add) value = added(y.type, get(y.data, y.type, i), value);
  if (y.type == Element::fp32)
    reinterpret_cast<float*>(y.data)[i] = value;
  else
    reinterpret_cast<std::uint16_t*>(y.data)[i] = narrowed(y.type, value);
}

/// Four neighbours, the share of one thread. Who sums in fours has an order that alignment does
/// not change: only how they are loaded depends on it.
struct Vec4 {
  float value[4];
};

__device__ inline bool aligned_to(const void* address, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// Elements [first, first + 4), zeros behind the first `count`.
__device__ inline Vec4 get4(const std::byte* data, Element type, std::uint64_t first,
                            std::uint64_t count) {
  Vec4 four = {};
  if (type == Element::fp32) {
    const float* from = reinterpret_cast<const float*>(data) + first;
    if (count >= 4 && aligned_to(from, 16)) {
      const float4 all = *reinterpret_cast<const float4*>(from);
      return {{all.x, all.y, all.z, all.w}};
    }
    for (std::uint64_t i = 0; i < 4 && i < count; ++i) four.value[i] = from[i];
    return four;
  }
  const std::uint16_t* from = reinterpret_cast<const std::uint16_t*>(data) + first;
  if (count >= 4 && aligned_to(from, 8)) {
    const ushort4 all = *reinterpret_cast<const ushort4*>(from);
    return {
        {widened(type, all.x), widened(type, all.y), widened(type, all.z), widened(type, all.w)}};
  }
  for (std::uint64_t i = 0; i < 4 && i < count; ++i) four.value[i] = widened(type, from[i]);
  return four;
}
__device__ inline Vec4 get4(const Input& x, std::uint64_t first, std::uint64_t count) {
  return get4(x.data, x.type, first, count);
}

__device__ inline void put4(const Output& y, std::uint64_t first, std::uint64_t count, Vec4 four) {
  if (y.add) {
    const Vec4 before = get4(y.data, y.type, first, count);
    for (int i = 0; i < 4; ++i) four.value[i] = added(y.type, before.value[i], four.value[i]);
  }
  const float(&v)[4] = four.value;
  if (y.type == Element::fp32) {
    float* into = reinterpret_cast<float*>(y.data) + first;
    if (count >= 4 && aligned_to(into, 16))
      *reinterpret_cast<float4*>(into) = make_float4(v[0], v[1], v[2], v[3]);
    else
      for (std::uint64_t i = 0; i < 4 && i < count; ++i) into[i] = v[i];
    return;
  }
  std::uint16_t* into = reinterpret_cast<std::uint16_t*>(y.data) + first;
  if (count >= 4 && aligned_to(into, 8))
    *reinterpret_cast<ushort4*>(into) =
        make_ushort4(narrowed(y.type, v[0]), narrowed(y.type, v[1]), narrowed(y.type, v[2]),
                     narrowed(y.type, v[3]));
  else
    for (std::uint64_t i = 0; i < 4 && i < count; ++i) into[i] = narrowed(y.type, v[i]);
}

/// Eight neighbours, the share of one thread: 16 bits each, they are one load of 16 bytes. As with
/// four, only how they are loaded depends on their alignment.
struct Eight {
  float value[8];
};

/// Eight elements as they lie in memory; those of 16 bits are all in `low`. Loaded before any of
/// them is converted, so that a thread waits for its operands together and not one by one.
struct Raw8 {
  uint4 low, high;
};

/// Elements [first, first + 8), zeros behind the first `count`.
__device__ inline Raw8 raw8(const std::byte* data, Element type, std::uint64_t first,
                            std::uint64_t count) {
  const bool wide = type == Element::fp32;
  const std::byte* const from = data + first * (wide ? 4 : 2);
  if (count >= 8 && aligned_to(from, 16)) {
    const auto* const all = reinterpret_cast<const uint4*>(from);
    Raw8 raw = {};
    raw.low = all[0];
    if (wide) raw.high = all[1];
    return raw;
  }
  std::uint32_t words[8] = {};
  SPILLWAY_UNROLL
  for (unsigned i = 0; i < 8; ++i)
    if (i >= count)
      continue;
    else if (wide)
      words[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
    else
      words[i / 2] |= std::uint32_t{reinterpret_cast<const std::uint16_t*>(from)[i]} << i % 2 * 16;
  return {{words[0], words[1], words[2], words[3]}, {words[4], words[5], words[6], words[7]}};
}
__device__ inline Raw8 raw8(const Input& x, std::uint64_t first, std::uint64_t count) {
  return raw8(x.data, x.type, first, count);
}

__device__ inline Eight widened8(Element type, const Raw8& raw) {
  const std::uint32_t words[8] = {raw.low.x,  raw.low.y,  raw.low.z,  raw.low.w,
                                  raw.high.x, raw.high.y, raw.high.z, raw.high.w};
  Eight eight = {};
  if (type == Element::fp32)
    for (int i = 0; i < 8; ++i) eight.value[i] = float_of(words[i]);
  else if (type == Element::fp16)
    for (int i = 0; i < 8; ++i)
      eight.value[i] = fp16_to_fp32(static_cast<std::uint16_t>(words[i / 2] >> i % 2 * 16));
  else
    for (int i = 0; i < 8; ++i)
      eight.value[i] = float_of(i % 2 == 0 ? words[i / 2] << 16 : words[i / 2] & 0xFFFF0000u);
  return eight;
}

__device__ inline Eight get8(const Input& x, std::uint64_t first, std::uint64_t count) {
  return widened8(x.type, raw8(x, first, count));
}

/// What of eight values, rounded, lies in memory.
__device__ inline Raw8 narrowed8(Element type, const Eight& eight) {
  std::uint32_t words[8] = {};
  if (type == Element::fp32)
    for (int i = 0; i < 8; ++i) words[i] = bits_of(eight.value[i]);
  else if (type == Element::fp16)
    for (int i = 0; i < 8; ++i)
      words[i / 2] |= std::uint32_t{fp32_to_fp16(eight.value[i])} << i % 2 * 16;
  else
    for (int i = 0; i < 8; ++i)
      words[i / 2] |= std::uint32_t{fp32_to_bf16(eight.value[i])} << i % 2 * 16;
  return {{words[0], words[1], words[2], words[3]}, {words[4], words[5], words[6], words[7]}};
}

__device__ inline void put8(const Output& y, std::uint64_t first, std::uint64_t count,
                            Eight eight) {
  if (y.add) {
    const Eight before = widened8(y.type, raw8(y.data, y.type, first, count));
    for (int i = 0; i < 8; ++i) eight.value[i] = added(y.type, before.value[i], eight.value[i]);
  }
  const bool wide = y.type == Element::fp32;
  std::byte* const into = y.data + first * (wide ? 4 : 2);
  const Raw8 raw = narrowed8(y.type, eight);
  if (count >= 8 && aligned_to(into, 16)) {
    auto* const all = reinterpret_cast<uint4*>(into);
    all[0] = raw.low;
    if (wide) all[1] = raw.high;
    return;
  }
  const std::uint32_t words[8] = {raw.low.x,  raw.low.y,  raw.low.z,  raw.low.w,
                                  raw.high.x, raw.high.y, raw.high.z, raw.high.w};
  SPILLWAY_UNROLL
  for (unsigned i = 0; i < 8; ++i)
    if (i >= count)
      continue;
    else if (wide)
      reinterpret_cast<std::uint32_t*>(into)[i] = words[i];
    else
      reinterpret_cast<std::uint16_t*>(into)[i] =
          static_cast<std::uint16_t>(words[i / 2] >> i % 2 * 16);
}

/// Which of the elements [element, element + 4) a dropout keeps.
struct Kept {
  bool value[4];
};
__device__ inline Kept kept4(const Dropout& dropout, std::uint64_t element) {
  const std::uint64_t first = dropout.first + element;
  const std::uint32_t threshold = dropout.threshold();
  const Words words = random_words(dropout.stream, first / 4);
  const unsigned skipped = static_cast<unsigned>(first % 4);
  Words more = words;
  if (skipped != 0) more = random_words(dropout.stream, first / 4 + 1);
  Kept kept = {};
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned at = skipped + i;
    kept.value[i] = (at < 4 ? words.word[at] : more.word[at - 4]) >= threshold;
  }
  return kept;
}

struct Kept8 {
  bool value[8];
};
__device__ inline Kept8 kept8(const Dropout& dropout, std::uint64_t first) {
  const Kept some = kept4(dropout, first), more = kept4(dropout, first + 4);
  Kept8 kept = {};
  for (int i = 0; i < 4; ++i) kept.value[i] = some.value[i], kept.value[i + 4] = more.value[i];
  return kept;
}

}  // namespace spillway::hw_backend::on_device
