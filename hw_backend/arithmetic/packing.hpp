#pragma once

#include "hw_backend/arithmetic/random.hpp"
#include "hw_backend/arithmetic/weight_slice.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spillway::hw_backend {

/// How a frozen matrix lies in 8 or 4 bits, in as many bytes as models::NumberFormat counts: its
/// codes one behind the other, then a scale for each `block` of them, then, in 4 bits, an fp32
/// scale for each `scale_block` scales.
///   int8    code / 127 x the largest magnitude of the block, a row, which is an fp32 scale.
///           Source  Dettmers et al.: LLM.int8() (2022), 2.1, row-wise
///   nf4     level[code] x scale; the scale code / 255 x the largest scale of its block of scales.
///           bitsandbytes takes off the scales' mean first and has other levels for them.
///           Source  Dettmers et al.: QLoRA (2023), 3 and appendix E
///   Parts   what shares no scale with others is packed by itself, in any order
struct Packing {
  std::uint64_t elements = 0;
  std::uint64_t block = 1;
  std::uint64_t scale_block = 0;  ///< 0: int8

  SPILLWAY_ANYWHERE bool in_4_bits() const { return scale_block > 0; }
  SPILLWAY_ANYWHERE std::uint64_t scales() const { return (elements + block - 1) / block; }
  SPILLWAY_ANYWHERE std::uint64_t code_bytes() const {
    return in_4_bits() ? (elements + 1) / 2 : elements;
  }
  /// Elements of a part, but for the last one's.
  SPILLWAY_ANYWHERE std::uint64_t part() const { return in_4_bits() ? block * scale_block : block; }
  SPILLWAY_ANYWHERE std::uint64_t parts() const { return (elements + part() - 1) / part(); }
  SPILLWAY_ANYWHERE std::uint64_t bytes() const {
    return code_bytes() + (in_4_bits() ? scales() + 4 * parts() : 4 * scales());
  }
};

/// Quantiles of a normal distribution, scaled to [-1, 1], with a zero of its own.
SPILLWAY_ANYWHERE inline float nf4_level(unsigned code) {
  switch (code) {  // no array, which threads of a GPU would each have in memory
    case 0:
      return -1.0f;
    case 1:
      return -0.6961928009986877f;
    case 2:
      return -0.5250730514526367f;
    case 3:
      return -0.39491748809814453f;
    case 4:
      return -0.28444138169288635f;
    case 5:
      return -0.18477343022823334f;
    case 6:
      return -0.09105003625154495f;
    case 7:
      return 0.0f;
    case 8:
      return 0.07958029955625534f;
    case 9:
      return 0.16093020141124725f;
    case 10:
      return 0.24611230194568634f;
    case 11:
      return 0.33791524171829224f;
    case 12:
      return 0.44070982933044434f;
    case 13:
      return 0.5626170039176941f;
    case 14:
      return 0.7229568362236023f;
    default:
      return 1.0f;
  }
}

/// The code of the level that is nearest to `value`.
SPILLWAY_ANYWHERE inline unsigned nf4_code(float value) {
  unsigned code = 0;
  while (code < 15 && value > (nf4_level(code) + nf4_level(code + 1)) * 0.5f) ++code;
  return code;
}

namespace packing {

SPILLWAY_ANYWHERE inline float magnitude(float value) { return value < 0 ? -value : value; }

/// Lies at any byte.
SPILLWAY_ANYWHERE inline float float_at(const std::byte* from) {
  float value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The scale of block `block`.
SPILLWAY_ANYWHERE inline float scale_of(const Packing& p, const std::byte* packed,
                                        std::uint64_t block) {
  const std::byte* const scales = packed + p.code_bytes();
  if (!p.in_4_bits()) return float_at(scales + 4 * block) / 127.0f;
  const float largest = float_at(scales + p.scales() + 4 * (block / p.scale_block));
  return static_cast<float>(static_cast<unsigned>(scales[block])) / 255.0f * largest;
}

SPILLWAY_ANYWHERE inline float number_at(const Packing& p, const std::byte* packed,
                                         std::uint64_t element, float scale) {
  if (!p.in_4_bits()) return static_cast<float>(static_cast<std::int8_t>(packed[element])) * scale;
  const unsigned both = static_cast<unsigned>(packed[element / 2]);
  return nf4_level(element % 2 == 0 ? both >> 4 : both & 15u) * scale;
}

/// Numbers [first, last), which have one scale, are packed with it.
template <class Value>
SPILLWAY_ANYWHERE void put_codes(const Packing& p, std::byte* packed, std::uint64_t first,
                                 std::uint64_t last, float scale, const Value& value) {
  const auto scaled = [&](std::uint64_t element) {
    return element < last && scale > 0 ? value(element) / scale : 0.0f;
  };
  if (p.in_4_bits()) {
    for (std::uint64_t i = first; i < last; i += 2)
      packed[i / 2] = static_cast<std::byte>(nf4_code(scaled(i)) << 4 | nf4_code(scaled(i + 1)));
    return;
  }
  for (std::uint64_t i = first; i < last; ++i) {
    const float code = scaled(i);
    packed[i] = static_cast<std::byte>(
        static_cast<std::int8_t>(static_cast<int>(code + (code < 0 ? -0.5f : 0.5f))));
  }
}

}  // namespace packing

/// Packs part `part` of a matrix whose element i is value(i).
///   Block  of an even number of elements in 4 bits: no two parts have a byte in common
template <class Value>
SPILLWAY_ANYWHERE void pack_part(const Packing& p, std::byte* packed, std::uint64_t part,
                                 const Value& value) {
  const std::uint64_t first = part * p.part();
  const std::uint64_t last = p.elements - first < p.part() ? p.elements : first + p.part();
  const auto end_of = [&](std::uint64_t begin) {
    return last - begin < p.block ? last : begin + p.block;
  };
  const auto largest_of = [&](std::uint64_t begin) {
    float largest = 0;
    for (std::uint64_t i = begin; i < end_of(begin); ++i) {
      const float magnitude = packing::magnitude(value(i));
      if (magnitude > largest) largest = magnitude;
    }
    return largest;
  };
  std::byte* const scales = packed + p.code_bytes();
  float largest = 0;
  for (std::uint64_t begin = first; begin < last; begin += p.block) {
    const float of_block = largest_of(begin);
    if (of_block > largest) largest = of_block;
  }
  std::memcpy(scales + (p.in_4_bits() ? p.scales() : 0) + 4 * part, &largest, sizeof largest);
  for (std::uint64_t begin = first; begin < last; begin += p.block) {
    const std::uint64_t block = begin / p.block;
    if (p.in_4_bits()) {
      const float share = largest > 0 ? largest_of(begin) / largest : 0.0f;
      scales[block] = static_cast<std::byte>(static_cast<unsigned>(share * 255.0f + 0.5f));
    }
    packing::put_codes(p, packed, begin, end_of(begin), packing::scale_of(p, packed, block), value);
  }
}

/// The same of elements from `first` on of what `slice` takes of a matrix that begins by `rule`;
/// what pads it is 0.
SPILLWAY_ANYWHERE inline void pack_initial_part(const InitialRule& rule, const RandomStream& stream,
                                                const WeightSlice& slice, std::uint64_t first,
                                                const Packing& packing, std::uint64_t part,
                                                std::byte* packed) {
  InitialValues initial(rule, stream);
  pack_part(packing, packed, part, [&](std::uint64_t i) {
    const std::uint64_t element = first + i;
    return element < slice.elements ? initial.of(slice.in_whole(element)) : 0.0f;
  });
}

/// values[i] = number first + i of `packed`, for i in [0, count).
SPILLWAY_ANYWHERE inline void unpack_some(const Packing& p, const std::byte* packed,
                                          std::uint64_t first, std::uint64_t count, float* values) {
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t at = first + done, left = p.block - at % p.block;
    const float scale = packing::scale_of(p, packed, at / p.block);
    for (std::uint64_t end = done + (left < count - done ? left : count - done); done < end; ++done)
      values[done] = packing::number_at(p, packed, first + done, scale);
  }
}

/// A matrix of which ranks have equal shares, one behind the other. Each is packed by itself, and
/// has whole parts: all numbers are those of the matrix packed as one.
struct PackedMatrix {
  Packing share;  ///< of all of it, where no ranks share it
  std::uint64_t elements = 0, shares = 1;
  std::uint64_t stride = 0;  ///< bytes from one share to the next

  /// Elements of share `number`, without what pads them.
  std::uint64_t count(std::uint64_t number) const {
    const std::uint64_t first = number * share.elements;
    return first >= elements                   ? 0
           : elements - first < share.elements ? elements - first
                                               : share.elements;
  }
};

}  // namespace spillway::hw_backend
