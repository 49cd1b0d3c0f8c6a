#pragma once

// Included by one source per instruction set, after its `#pragma GCC target`: everything here is
// internal to that source, so that no linker hands one processor's code to another.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "hw_backend/cpu/kernels.hpp"

namespace spillway::hw_backend {
namespace {

/// Lanes of width 1: the whole of `portable`, and the ends of arrays elsewhere.
///   load, store   with conversion; `streamed` stores need an aligned address
///   store_canonical   a NaN is stored as the canonical one, 0x7FC00000, rounded
struct One {
  using Float = float;
  static constexpr std::size_t width = 1;
  static Float all(float value) { return value; }
  template <Element type>
  static Float load(const std::byte* from) {
    return hw_backend::load({from, type}, 0);
  }
  template <Element type, bool streamed>
  static void store(std::byte* into, Float value) {
    hw_backend::store({into, type}, 0, value);
  }
  static Float root(Float value) { return std::sqrt(value); }
  template <Element type, bool streamed>
  static void store_canonical(std::byte* into, Float value) {
    store<type, streamed>(into, value == value ? value : std::bit_cast<float>(0x7FC00000u));
  }
};

constexpr Element fp32 = Element::fp32;

/// Where a conversion's data come from and go to.
///   fetched    from memory: its lines are asked for early, as the processor's own prefetcher
///              starts anew with every page
///   streamed   to memory, past the caches
struct Way {
  bool fetched = false, streamed = false;
};
constexpr std::size_t fetch_distance = 8192;

[[gnu::always_inline]] inline void fetch(const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + fetch_distance + i);
}

template <class V, Element to, Element of, Way way>
void convert_typed(std::byte* into, const std::byte* from, std::size_t n) {
  constexpr std::size_t step = size_of(of), stride = size_of(to);
  std::size_t i = 0;
  for (; i + V::width <= n; i += V::width) {
    if constexpr (way.fetched && V::width > 1) fetch(from + i * step, V::width * step);
    V::template store<to, way.streamed>(into + i * stride, V::template load<of>(from + i * step));
  }
  for (; i < n; ++i) One::store<to, false>(into + i * stride, One::load<of>(from + i * step));
}

using Convert = void (*)(std::byte*, const std::byte*, std::size_t);
using ConvertFrom = std::array<Convert, 3>;

template <class V, Element to, Way way>
constexpr ConvertFrom conversions_to{convert_typed<V, to, Element::fp32, way>,
                                     convert_typed<V, to, Element::fp16, way>,
                                     convert_typed<V, to, Element::bf16, way>};

template <class V, Way way>
constexpr std::array<ConvertFrom, 3> conversions{conversions_to<V, Element::fp32, way>,
                                                 conversions_to<V, Element::fp16, way>,
                                                 conversions_to<V, Element::bf16, way>};

template <class V>
Convert conversion(Element to, Element of, Way way) {
  const auto& table =
      way.fetched
          ? (way.streamed ? conversions<V, Way{true, true}> : conversions<V, Way{true, false}>)
          : (way.streamed ? conversions<V, Way{false, true}> : conversions<V, Way{false, false}>);
  return table[static_cast<std::size_t>(to)][static_cast<std::size_t>(of)];
}

std::byte* at(Array array, std::size_t i) { return array.data + i * size_of(array.type); }
const std::byte* at(ConstArray array, std::size_t i) {
  return array.data + i * size_of(array.type);
}

/// Past the caches only from aligned addresses on; ranges start at multiples of 64 elements.
bool streams(Array array, Range range) {
  return range.streamed && reinterpret_cast<std::uintptr_t>(array.data) % 64 == 0;
}

template <class V>
void convert_range(Array into, ConstArray from, Range range) {
  const Way way{true, streams(into, range)};
  conversion<V>(into.type, from.type, way)(at(into, range.first), at(from, range.first),
                                           range.last - range.first);
  if (way.streamed) V::fence();
}

/// Arithmetic is in fp32. What is not fp32 passes through blocks of scratch that stay in the
/// first cache, so each kernel is written once and not once per combination of types.
constexpr std::size_t block_elements = 512;
struct alignas(64) Scratch {
  std::byte data[block_elements * 4];
};

/// Elements [i, i + n) as fp32: in place, or in `scratch`.
template <class V>
const std::byte* widened(ConstArray array, std::size_t i, std::size_t n, Scratch& scratch) {
  if (array.type == fp32) return at(array, i);
  conversion<V>(fp32, array.type, {true, false})(scratch.data, at(array, i), n);
  return scratch.data;
}

/// The same of elements that will be written; `settle` brings them back.
template <class V>
std::byte* borrowed(Array array, std::size_t i, std::size_t n, Scratch& scratch) {
  return widened<V>(array, i, n, scratch) == scratch.data ? scratch.data : at(array, i);
}

template <class V>
void settle(Array array, std::size_t i, std::size_t n, const std::byte* values,
            bool streamed = false) {
  if (at(array, i) == values) return;
  conversion<V>(array.type, fp32, {false, streamed})(at(array, i), values, n);
}

/// block(first, n) over `range`.
template <class Block>
void in_blocks_of(Range range, Block block) {
  for (std::size_t i = range.first; i < range.last; i += block_elements) {
    block(i, std::min(block_elements, range.last - i));
  }
}

/// AdamScalars in all lanes.
template <class V>
struct AdamLanes {
  explicit AdamLanes(const AdamScalars& s)
      : inverse_scale(V::all(s.inverse_scale)),
        beta1(V::all(s.beta1)),
        rest1(V::all(s.rest1)),
        beta2(V::all(s.beta2)),
        rest2(V::all(s.rest2)),
        inverse_root_correction2(V::all(s.inverse_root_correction2)),
        epsilon(V::all(s.epsilon)),
        keep(V::all(s.keep)),
        step(V::all(s.step)) {}
  typename V::Float inverse_scale, beta1, rest1, beta2, rest2, inverse_root_correction2, epsilon,
      keep, step;
};

/// The first elements of a block: `state` is the type of master, momentum and variance.
template <Element state, Element gradient_type>
struct AdamBlock {
  std::byte* master;
  std::byte* momentum;
  std::byte* variance;
  const std::byte* gradient;
};

template <class V, Element type>
[[gnu::always_inline]] inline typename V::Float read(const std::byte* array, std::size_t i) {
  return V::template load<type>(array + i * size_of(type));
}

template <class V, Element type>
[[gnu::always_inline]] inline typename V::Float fetched(const std::byte* array, std::size_t i) {
  const std::byte* const from = array + i * size_of(type);
  if constexpr (V::width > 1) fetch(from, V::width * size_of(type));
  return V::template load<type>(from);
}

template <class V, Element type>
[[gnu::always_inline]] inline void put(std::byte* array, std::size_t i, typename V::Float value) {
  V::template store_canonical<type, false>(array + i * size_of(type), value);
}

template <class V, Element state, Element gradient>
[[gnu::always_inline]] inline void adam_at(const AdamBlock<state, gradient>& a,
                                           const AdamLanes<V>& s, std::size_t i) {
  const auto g = read<V, gradient>(a.gradient, i) * s.inverse_scale;
  const auto m = (s.beta1 * read<V, state>(a.momentum, i)) + (s.rest1 * g);
  const auto v = (s.beta2 * read<V, state>(a.variance, i)) + (s.rest2 * (g * g));
  const auto d = (V::root(v) * s.inverse_root_correction2) + s.epsilon;
  const auto w = (s.keep * read<V, state>(a.master, i)) - (s.step * (m / d));
  put<V, state>(a.momentum, i, m);
  put<V, state>(a.variance, i, v);
  put<V, state>(a.master, i, w);
}

/// Lanes and pointers are locals, since a store of bytes could change them anywhere else.
template <class V, Element state, Element gradient>
void adam_block(const AdamBlock<state, gradient> block, const AdamScalars& scalars, std::size_t n) {
  std::size_t i = 0;
  const AdamLanes<V> lanes(scalars);
  for (; i + V::width <= n; i += V::width) adam_at<V>(block, lanes, i);
  const AdamLanes<One> one_lane(scalars);
  for (; i < n; ++i) adam_at<One>(block, one_lane, i);
}

/// Any types, through scratch.
template <class V>
void adam_mixed(const AdamArrays& arrays, const AdamScalars& scalars, std::size_t i, std::size_t n,
                bool streamed) {
  Scratch master, momentum, variance, gradient;
  const AdamBlock<fp32, fp32> block{
      borrowed<V>(arrays.master, i, n, master), borrowed<V>(arrays.momentum, i, n, momentum),
      borrowed<V>(arrays.variance, i, n, variance), widened<V>(arrays.gradient, i, n, gradient)};
  adam_block<V>(block, scalars, n);
  settle<V>(arrays.momentum, i, n, block.momentum);
  settle<V>(arrays.variance, i, n, block.variance);
  settle<V>(arrays.master, i, n, block.master);
  if (arrays.weight) settle<V>(*arrays.weight, i, n, block.master, streamed);
}

/// States of one type that is also the type of the result, as nearly every run has them.
template <class V, Element state, Element gradient>
void adam_alike(const AdamArrays& arrays, const AdamScalars& scalars, std::size_t i, std::size_t n,
                bool streamed) {
  const AdamBlock<state, gradient> block{at(arrays.master, i), at(arrays.momentum, i),
                                         at(arrays.variance, i), at(arrays.gradient, i)};
  adam_block<V>(block, scalars, n);
  if (arrays.weight) settle<V>(*arrays.weight, i, n, block.master, streamed);
}

template <class V>
auto adam_kernel(const AdamArrays& arrays) {
  const Element state = arrays.master.type;
  const bool alike = arrays.momentum.type == state && arrays.variance.type == state;
  const auto of_gradient = [&]<Element same>() {
    return arrays.gradient.type == fp32            ? adam_alike<V, same, fp32>
           : arrays.gradient.type == Element::fp16 ? adam_alike<V, same, Element::fp16>
                                                   : adam_alike<V, same, Element::bf16>;
  };
  if (alike && state == fp32) return of_gradient.template operator()<fp32>();
  // A weight beside a rounded master is rounded from what the master was rounded from.
  if (alike && state == Element::bf16 && !arrays.weight) {
    return of_gradient.template operator()<Element::bf16>();
  }
  return adam_mixed<V>;
}

template <class V>
void adam_range(const AdamArrays& arrays, const AdamScalars& scalars, Range range) {
  const bool streamed = arrays.weight && streams(*arrays.weight, range);
  const auto kernel = adam_kernel<V>(arrays);
  in_blocks_of(range,
               [&](std::size_t i, std::size_t n) { kernel(arrays, scalars, i, n, streamed); });
  if (streamed) V::fence();
}

template <class V>
[[gnu::always_inline]] inline void sgd_at(std::byte* master, const std::byte* gradient,
                                          const SgdScalars& s, std::size_t i) {
  const auto g = fetched<V, fp32>(gradient, i) * V::all(s.inverse_scale);
  const auto w = (V::all(s.keep) * fetched<V, fp32>(master, i)) - (V::all(s.step) * g);
  put<V, fp32>(master, i, w);
}

template <class V>
void sgd_block(std::byte* master, const std::byte* gradient, const SgdScalars scalars,
               std::size_t n) {
  std::size_t i = 0;
  for (; i + V::width <= n; i += V::width) sgd_at<V>(master, gradient, scalars, i);
  for (; i < n; ++i) sgd_at<One>(master, gradient, scalars, i);
}

template <class V>
void sgd_range(const SgdArrays& arrays, const SgdScalars& scalars, Range range) {
  const bool streamed = arrays.weight && streams(*arrays.weight, range);
  Scratch master, gradient;
  in_blocks_of(range, [&](std::size_t i, std::size_t n) {
    std::byte* const w = borrowed<V>(arrays.master, i, n, master);
    sgd_block<V>(w, widened<V>(arrays.gradient, i, n, gradient), scalars, n);
    settle<V>(arrays.master, i, n, w);
    if (arrays.weight) settle<V>(*arrays.weight, i, n, w, streamed);
  });
  if (streamed) V::fence();
}

template <class V, Element type, bool streamed>
void add_typed(std::byte* into, const std::byte* a, const std::byte* b, std::size_t n) {
  std::size_t i = 0;
  for (; i + V::width <= n; i += V::width) {
    V::template store_canonical<type, streamed>(into + i * size_of(type),
                                                read<V, type>(a, i) + read<V, type>(b, i));
  }
  for (; i < n; ++i) {
    put<One, type>(into, i, read<One, type>(a, i) + read<One, type>(b, i));
  }
}

template <class V, bool streamed>
auto adder(Element type) {
  return type == fp32            ? add_typed<V, fp32, streamed>
         : type == Element::fp16 ? add_typed<V, Element::fp16, streamed>
                                 : add_typed<V, Element::bf16, streamed>;
}

template <class V>
void add_range(Array into, ConstArray a, ConstArray b, Range range) {
  const bool streamed = streams(into, range) && into.data != a.data && into.data != b.data;
  const bool alike = into.type == a.type && into.type == b.type;
  const auto kernel = streamed ? adder<V, true>(into.type) : adder<V, false>(into.type);
  Scratch first, second, sum;
  in_blocks_of(range, [&](std::size_t i, std::size_t n) {
    if (alike) return kernel(at(into, i), at(a, i), at(b, i), n);
    const std::byte* const x = widened<V>(a, i, n, first);
    const std::byte* const y = widened<V>(b, i, n, second);
    if (into.type == fp32) return kernel(at(into, i), x, y, n);
    add_typed<V, fp32, false>(sum.data, x, y, n);
    settle<V>(into, i, n, sum.data, streamed);
  });
  if (streamed) V::fence();
}

/// Exponent bits, all ones in infinities and NaNs.
template <class Bits>
constexpr Bits exponent_of(Element type) {
  return static_cast<Bits>(type == Element::fp32   ? 0x7F800000u
                           : type == Element::fp16 ? 0x7C00u
                                                   : 0x7F80u);
}

template <class Bits>
Bits bits_at(const std::byte* data, std::size_t i) {
  Bits bits = 0;
  std::memcpy(&bits, data + i * sizeof(Bits), sizeof bits);
  return bits;
}

template <class V, class Bits>
bool overflow_in(ConstArray values, Range range) {
  constexpr std::size_t block = 4096 / sizeof(Bits);
  const Bits exponent = exponent_of<Bits>(values.type);
  std::size_t i = range.first;
  for (; i + block <= range.last; i += block) {
    if (V::template any_has_all<Bits>(values.data + i * sizeof(Bits), exponent)) return true;
  }
  for (; i < range.last; ++i) {
    if ((bits_at<Bits>(values.data, i) & exponent) == exponent) return true;
  }
  return false;
}

template <class V>
bool overflow_range(ConstArray values, Range range) {
  return values.type == Element::fp32 ? overflow_in<V, std::uint32_t>(values, range)
                                      : overflow_in<V, std::uint16_t>(values, range);
}

/// Loops whose length the compiler knows, which it turns into vectors of the source's target.
constexpr std::size_t chained_block = 1024;

/// f(i, length) over [0, n) in whole blocks, then one by one.
template <class Loop>
void in_blocks(std::size_t n, Loop loop) {
  std::size_t i = 0;
  for (; i + chained_block <= n; i += chained_block) {
    loop(i, std::integral_constant<std::size_t, chained_block>());
  }
  for (; i < n; ++i) loop(i, std::integral_constant<std::size_t, 1>());
}

bool any_set(const std::byte* matches, std::size_t n) {
  std::uint8_t any = 0;
  in_blocks(n, [&](std::size_t first, auto length) {
    std::uint8_t found = 0;
    for (std::size_t i = 0; i < length; ++i) {
      found |= static_cast<std::uint8_t>(matches[first + i]);
    }
    any |= found;
  });
  return any != 0;
}

template <class Bits>
bool chained_of(const ChainedCheck& check) {
  const Bits exponent = exponent_of<Bits>(check.values.type);
  constexpr Bits magnitude = static_cast<Bits>(~Bits(0)) >> 1;
  const std::byte* const values = check.values.data;
  std::byte* const absolute = check.absolute;
  std::byte* const matches = check.matches;
  in_blocks(check.n, [=](std::size_t first, auto length) {
    for (std::size_t i = first; i < first + length; ++i) {
      const Bits bits = bits_at<Bits>(values, i) & magnitude;
      std::memcpy(absolute + i * sizeof(Bits), &bits, sizeof bits);
    }
  });
  in_blocks(check.n, [=](std::size_t first, auto length) {
    for (std::size_t i = first; i < first + length; ++i) {
      matches[i] = static_cast<std::byte>(bits_at<Bits>(absolute, i) == exponent);
    }
  });
  const bool infinite = any_set(matches, check.n);
  in_blocks(check.n, [=](std::size_t first, auto length) {
    for (std::size_t i = first; i < first + length; ++i) {
      matches[i] = static_cast<std::byte>((bits_at<Bits>(values, i) & magnitude) > exponent);
    }
  });
  const bool not_a_number = any_set(matches, check.n);
  return infinite || not_a_number;
}

bool chained_range(const ChainedCheck& check) {
  return check.values.type == Element::fp32 ? chained_of<std::uint32_t>(check)
                                            : chained_of<std::uint16_t>(check);
}

template <class V>
constexpr Kernels kernels_of{adam_range<V>, sgd_range<V>,      convert_range<V>, add_range<V>,
                             V::copy,       overflow_range<V>, chained_range};

}  // namespace
}  // namespace spillway::hw_backend
