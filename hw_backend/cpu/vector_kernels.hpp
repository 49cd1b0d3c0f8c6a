#pragma once

// Included by one source per instruction set, after its `#pragma GCC target`: everything here is
// internal to that source, so that no linker hands one processor's code to another.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "hw_backend/cpu/kernels.hpp"

namespace spillway::hw_backend {
namespace {

/// Lanes of width 1: the whole of `portable`, and the ends of arrays elsewhere.
///   load, store   with conversion; `streamed` stores need an aligned address
///   tamed         NaNs become 0x7FC00000
struct One {
  using Float = float;
  static constexpr std::size_t width = 1;
  static constexpr std::size_t alignment = 1;
  static Float all(float value) { return value; }
  static Float load(Element type, const std::byte* from) {
    return hw_backend::load({from, type}, 0);
  }
  template <bool streamed>
  static void store(Element type, std::byte* into, Float value) {
    hw_backend::store({into, type}, 0, value);
  }
  static Float root(Float value) { return std::sqrt(value); }
  static Float tamed(Float value) {
    return value == value ? value : std::bit_cast<float>(0x7FC00000u);
  }
};

template <class V>
typename V::Float load_at(ConstArray array, std::size_t i) {
  return V::load(array.type, array.data + i * size_of(array.type));
}

template <class V, bool streamed = false>
void store_at(Array array, std::size_t i, typename V::Float value) {
  V::template store<streamed>(array.type, array.data + i * size_of(array.type), value);
}

/// AdamScalars and SgdScalars in all lanes.
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

template <class V>
struct SgdLanes {
  explicit SgdLanes(const SgdScalars& s)
      : inverse_scale(V::all(s.inverse_scale)), keep(V::all(s.keep)), step(V::all(s.step)) {}
  typename V::Float inverse_scale, keep, step;
};

template <class V, bool streamed>
void adam_at(const AdamArrays& a, const AdamLanes<V>& s, std::size_t i) {
  using Float = typename V::Float;
  const Float g = load_at<V>(a.gradient, i) * s.inverse_scale;
  const Float m = (s.beta1 * load_at<V>(a.momentum, i)) + (s.rest1 * g);
  const Float v = (s.beta2 * load_at<V>(a.variance, i)) + (s.rest2 * (g * g));
  const Float d = (V::root(v) * s.inverse_root_correction2) + s.epsilon;
  const Float w = V::tamed((s.keep * load_at<V>(a.master, i)) - (s.step * (m / d)));
  store_at<V>(a.momentum, i, V::tamed(m));
  store_at<V>(a.variance, i, V::tamed(v));
  store_at<V>(a.master, i, w);
  if (a.weight) store_at<V, streamed>(*a.weight, i, w);
}

template <class V, bool streamed>
void sgd_at(const SgdArrays& a, const SgdLanes<V>& s, std::size_t i) {
  using Float = typename V::Float;
  const Float g = load_at<V>(a.gradient, i) * s.inverse_scale;
  const Float w = V::tamed((s.keep * load_at<V>(a.master, i)) - (s.step * g));
  store_at<V>(a.master, i, w);
  if (a.weight) store_at<V, streamed>(*a.weight, i, w);
}

/// Calls one(i) for single elements until `written` is aligned and from the last whole vector on,
/// many(i) for whole vectors between. Without a `written` array nothing is aligned.
template <class V, class Single, class Many>
void sweep(Range range, Array written, Single one, Many many) {
  std::size_t i = range.first;
  if (written.data != nullptr) {
    const std::size_t width = size_of(written.type);
    while (i < range.last &&
           reinterpret_cast<std::uintptr_t>(written.data + i * width) % V::alignment != 0) {
      one(i++);
    }
  }
  for (; i + V::width <= range.last; i += V::width) many(i);
  for (; i < range.last; ++i) one(i);
}

/// `streamed` stores go to `weight` alone: the other arrays are read, so they are in the caches.
template <class V, template <class> class Lanes, auto single, auto many, auto many_streamed>
void step_range(const auto& arrays, const auto& numbers, Range range) {
  const Lanes<One> one_lane(numbers);
  const Lanes<V> lanes(numbers);
  const auto one = [&](std::size_t i) { single(arrays, one_lane, i); };
  if (range.streamed && arrays.weight && arrays.weight->data != arrays.gradient.data) {
    sweep<V>(range, *arrays.weight, one, [&](std::size_t i) { many_streamed(arrays, lanes, i); });
    V::fence();
  } else {
    sweep<V>(range, {}, one, [&](std::size_t i) { many(arrays, lanes, i); });
  }
}

template <class V>
void adam_range(const AdamArrays& arrays, const AdamScalars& numbers, Range range) {
  step_range<V, AdamLanes, adam_at<One, false>, adam_at<V, false>, adam_at<V, true>>(
      arrays, numbers, range);
}

template <class V>
void sgd_range(const SgdArrays& arrays, const SgdScalars& numbers, Range range) {
  step_range<V, SgdLanes, sgd_at<One, false>, sgd_at<V, false>, sgd_at<V, true>>(arrays, numbers,
                                                                                 range);
}

template <class V, Element to, Element of>
void convert_types(std::byte* into, const std::byte* from, Range range) {
  const auto at = [&]<class W, bool streamed>(std::size_t i) {
    W::template store<streamed>(to, into + i * size_of(to), W::load(of, from + i * size_of(of)));
  };
  const auto one = [&](std::size_t i) { at.template operator()<One, false>(i); };
  if (range.streamed) {
    sweep<V>(range, {into, to}, one, [&](std::size_t i) { at.template operator()<V, true>(i); });
    V::fence();
  } else {
    sweep<V>(range, {}, one, [&](std::size_t i) { at.template operator()<V, false>(i); });
  }
}

template <class V>
void convert_range(Array into, ConstArray from, Range range) {
  constexpr auto fp32 = Element::fp32, fp16 = Element::fp16, bf16 = Element::bf16;
  const auto run = [&](auto function) { function(into.data, from.data, range); };
  if (into.type == fp32) {
    run(from.type == fp16 ? convert_types<V, fp32, fp16> : convert_types<V, fp32, bf16>);
  } else if (into.type == fp16) {
    run(from.type == fp32 ? convert_types<V, fp16, fp32> : convert_types<V, fp16, bf16>);
  } else {
    run(from.type == fp32 ? convert_types<V, bf16, fp32> : convert_types<V, bf16, fp16>);
  }
}

template <class V>
void add_range(Array into, ConstArray a, ConstArray b, Range range) {
  const auto at = [&]<class W, bool streamed>(std::size_t i) {
    store_at<W, streamed>(into, i, W::tamed(load_at<W>(a, i) + load_at<W>(b, i)));
  };
  const auto one = [&](std::size_t i) { at.template operator()<One, false>(i); };
  if (range.streamed && into.data != a.data && into.data != b.data) {
    sweep<V>(range, into, one, [&](std::size_t i) { at.template operator()<V, true>(i); });
    V::fence();
  } else {
    sweep<V>(range, {}, one, [&](std::size_t i) { at.template operator()<V, false>(i); });
  }
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
