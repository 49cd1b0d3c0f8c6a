#include "hw_backend/cpu/kernels.hpp"

#if defined(__x86_64__)
// g++ 12 takes its own "undefined" operand of unmasked intrinsics for a fault (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

// What follows may use these instructions; what was included above may not.
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c,avx2,prefer-vector-width=512")
#include "hw_backend/cpu/vector_kernels.hpp"

namespace spillway::hw_backend {

namespace {

/// Two vectors, so that 16-bit results fill a cache line and divisions overlap.
struct Pair {
  __m512 low, high;
};
[[gnu::always_inline]] inline Pair operator+(Pair a, Pair b) {
  return {_mm512_add_ps(a.low, b.low), _mm512_add_ps(a.high, b.high)};
}
[[gnu::always_inline]] inline Pair operator-(Pair a, Pair b) {
  return {_mm512_sub_ps(a.low, b.low), _mm512_sub_ps(a.high, b.high)};
}
[[gnu::always_inline]] inline Pair operator*(Pair a, Pair b) {
  return {_mm512_mul_ps(a.low, b.low), _mm512_mul_ps(a.high, b.high)};
}
[[gnu::always_inline]] inline Pair operator/(Pair a, Pair b) {
  return {_mm512_div_ps(a.low, b.low), _mm512_div_ps(a.high, b.high)};
}

struct Avx512 {
  using Float = Pair;
  static constexpr std::size_t width = 32;
  static constexpr std::size_t alignment = 64;

  static Float all(float value) { return {_mm512_set1_ps(value), _mm512_set1_ps(value)}; }

  template <Element type>
  [[gnu::always_inline]] static Float load(const std::byte* from) {
    if constexpr (type == Element::fp32) {
      return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + 64)};
    } else if constexpr (type == Element::fp16) {
      const auto* const halves = reinterpret_cast<const __m256i*>(from);
      return {_mm512_cvtph_ps(_mm256_loadu_si256(halves)),
              _mm512_cvtph_ps(_mm256_loadu_si256(halves + 1))};
    } else {
      const __m512i bits = _mm512_loadu_si512(from);
      return {upper_halves(bits, 0), upper_halves(bits, 16)};
    }
  }

  template <Element type, bool streamed>
  [[gnu::always_inline]] static void store(std::byte* into, Float value) {
    if constexpr (type == Element::bf16) {
      put<streamed>(into, packed(quieted(value.low), quieted(value.high)));
    } else {
      store_float<type, streamed>(into, value);
    }
  }

  template <Element type, bool streamed>
  [[gnu::always_inline]] static void store_canonical(std::byte* into, Float value) {
    if constexpr (type == Element::bf16) {
      put<streamed>(into, packed(canonical_bits(value.low, rounded(value.low)),
                                 canonical_bits(value.high, rounded(value.high))));
    } else {
      store_float<type, streamed>(into, {canonical(value.low), canonical(value.high)});
    }
  }

  static Float root(Float value) { return {_mm512_sqrt_ps(value.low), _mm512_sqrt_ps(value.high)}; }

  static void fence() { _mm_sfence(); }

  static void copy(std::byte* into, const std::byte* from, std::size_t bytes) {
    const std::size_t head = std::min(
        bytes, (alignment - reinterpret_cast<std::uintptr_t>(into) % alignment) % alignment);
    std::memcpy(into, from, head);
    std::size_t i = head;
    for (; i + 64 <= bytes; i += 64) {
      fetch(from + i, 64);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(into + i), _mm512_loadu_si512(from + i));
    }
    std::memcpy(into + i, from + i, bytes - i);
    fence();
  }

  template <bool streamed>
  [[gnu::always_inline]] static void put(std::byte* into, __m512i bits) {
    if constexpr (streamed) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(into), bits);
    } else {
      _mm512_storeu_si512(into, bits);
    }
  }

  /// 0, 1 ... 31 in words.
  [[gnu::always_inline]] static __m512i indices() {
    const __m512i steps = _mm512_set1_epi64(0x0003'0002'0001'0000);
    const __m512i blocks = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                                              _mm512_set1_epi64(0x0004'0004'0004'0004));
    return _mm512_add_epi16(steps, blocks);
  }

  /// bf16 words first ... first + 15 as fp32: each becomes the upper half of 32 bits.
  [[gnu::always_inline]] static __m512 upper_halves(__m512i words, short first) {
    const __m512i from =
        _mm512_add_epi16(_mm512_srli_epi16(indices(), 1), _mm512_set1_epi16(first));
    return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xAAAAAAAA, from, words));
  }

  template <Element type, bool streamed>
  [[gnu::always_inline]] static void store_float(std::byte* into, Float value) {
    if constexpr (type == Element::fp32) {
      put<streamed>(into, _mm512_castps_si512(value.low));
      put<streamed>(into + 64, _mm512_castps_si512(value.high));
    } else {
      const __m256i low = _mm512_cvtps_ph(value.low, _MM_FROUND_TO_NEAREST_INT);
      const __m256i high = _mm512_cvtps_ph(value.high, _MM_FROUND_TO_NEAREST_INT);
      put<streamed>(into, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
    }
  }

  /// fp32_to_bf16 of numbers, in the upper halves; the processor's own vcvtneps2bf16 flushes
  /// subnormals.
  [[gnu::always_inline]] static __m512i rounded(__m512 value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    const __m512i sum = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF));
    return _mm512_mask_add_epi32(sum, odd, sum, _mm512_set1_epi32(1));
  }

  /// The same of any value: NaNs keep their upper payload.
  [[gnu::always_inline]] static __m512i quieted(__m512 value) {
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(rounded(value), nan, _mm512_castps_si512(value),
                                _mm512_set1_epi32(0x400000));
  }

  /// The upper halves of `low`, then of `high`.
  [[gnu::always_inline]] static __m512i packed(__m512i low, __m512i high) {
    const __m512i odd_words =
        _mm512_add_epi16(_mm512_slli_epi16(indices(), 1), _mm512_set1_epi16(1));
    return _mm512_permutex2var_epi16(low, odd_words, high);
  }

  /// `bits`, or 0x7FC00000 where `value` is NaN.
  [[gnu::always_inline]] static __m512i canonical_bits(__m512 value, __m512i bits) {
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(0x7FC00000));
  }

  [[gnu::always_inline]] static __m512 canonical(__m512 value) {
    return _mm512_castsi512_ps(canonical_bits(value, _mm512_castps_si512(value)));
  }

  /// Of the 4096 bytes at `data`.
  template <class Bits>
  static bool any_has_all(const std::byte* data, Bits exponent) {
    const __m512i mask = sizeof(Bits) == 4 ? _mm512_set1_epi32(static_cast<int>(exponent))
                                           : _mm512_set1_epi16(static_cast<short>(exponent));
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < 4096; i += 64) {
      fetch(data + i, 64);
      const __m512i bits = _mm512_and_si512(_mm512_loadu_si512(data + i), mask);
      if constexpr (sizeof(Bits) == 4) {
        found |= _mm512_cmpeq_epi32_mask(bits, mask);
      } else {
        found |= _mm512_cmpeq_epi16_mask(bits, mask);
      }
    }
    return found != 0;
  }
};

}  // namespace

const Kernels* avx512_kernels() { return &kernels_of<Avx512>; }

}  // namespace spillway::hw_backend

#else

namespace spillway::hw_backend {
const Kernels* avx512_kernels() { return nullptr; }
}  // namespace spillway::hw_backend

#endif
