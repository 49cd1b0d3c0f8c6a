#include "hw_backend/cpu/kernels.hpp"

#if defined(__x86_64__)
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
#pragma GCC target("avx2,f16c")
#include "hw_backend/cpu/vector_kernels.hpp"

namespace spillway::hw_backend {

namespace {

/// Two vectors, so that 16-bit results fill one and divisions overlap.
struct Pair {
  __m256 low, high;
};
[[gnu::always_inline]] inline Pair operator+(Pair a, Pair b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
[[gnu::always_inline]] inline Pair operator-(Pair a, Pair b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
[[gnu::always_inline]] inline Pair operator*(Pair a, Pair b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
[[gnu::always_inline]] inline Pair operator/(Pair a, Pair b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}

struct Avx2 {
  using Float = Pair;
  static constexpr std::size_t width = 16;
  static constexpr std::size_t alignment = 32;

  static Float all(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }

  template <Element type>
  [[gnu::always_inline]] static Float load(const std::byte* from) {
    if constexpr (type == Element::fp32) {
      return {_mm256_loadu_ps(reinterpret_cast<const float*>(from)),
              _mm256_loadu_ps(reinterpret_cast<const float*>(from + 32))};
    } else {
      const auto* const halves = reinterpret_cast<const __m128i*>(from);
      return {widened<type>(_mm_loadu_si128(halves)), widened<type>(_mm_loadu_si128(halves + 1))};
    }
  }

  template <Element type, bool streamed>
  [[gnu::always_inline]] static void store(std::byte* into, Float value) {
    if constexpr (type == Element::fp32) {
      put<streamed>(into, _mm256_castps_si256(value.low));
      put<streamed>(into + 32, _mm256_castps_si256(value.high));
    } else {
      put<streamed>(into, _mm256_set_m128i(narrowed<type>(value.high), narrowed<type>(value.low)));
    }
  }

  static Float root(Float value) { return {_mm256_sqrt_ps(value.low), _mm256_sqrt_ps(value.high)}; }

  template <Element type, bool streamed>
  [[gnu::always_inline]] static void store_canonical(std::byte* into, Float value) {
    store<type, streamed>(into, {canonical(value.low), canonical(value.high)});
  }

  static void fence() { _mm_sfence(); }

  static void copy(std::byte* into, const std::byte* from, std::size_t bytes) {
    const std::size_t head = std::min(
        bytes, (alignment - reinterpret_cast<std::uintptr_t>(into) % alignment) % alignment);
    std::memcpy(into, from, head);
    std::size_t i = head;
    for (; i + 32 <= bytes; i += 32) {
      fetch(from + i, 32);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(into + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    }
    std::memcpy(into + i, from + i, bytes - i);
    fence();
  }

  template <bool streamed>
  [[gnu::always_inline]] static void put(std::byte* into, __m256i bits) {
    if constexpr (streamed) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(into), bits);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(into), bits);
    }
  }

  template <Element type>
  [[gnu::always_inline]] static __m256 widened(__m128i bits) {
    if constexpr (type == Element::fp16) return _mm256_cvtph_ps(bits);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }

  template <Element type>
  [[gnu::always_inline]] static __m128i narrowed(__m256 value) {
    if constexpr (type == Element::fp16) return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i upper = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i words = _mm256_blendv_epi8(_mm256_srli_epi32(rounded, 16), quiet, nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  }

  static __m256 canonical(__m256 value) {
    const __m256 nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    return _mm256_blendv_ps(value, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000)), nan);
  }

  /// Of the 4096 bytes at `data`.
  template <class Bits>
  static bool any_has_all(const std::byte* data, Bits exponent) {
    const __m256i mask = sizeof(Bits) == 4 ? _mm256_set1_epi32(static_cast<int>(exponent))
                                           : _mm256_set1_epi16(static_cast<short>(exponent));
    __m256i found = _mm256_setzero_si256();
    for (std::size_t i = 0; i < 4096; i += 32) {
      fetch(data + i, 32);
      const __m256i bits =
          _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i)), mask);
      found = _mm256_or_si256(found, sizeof(Bits) == 4 ? _mm256_cmpeq_epi32(bits, mask)
                                                       : _mm256_cmpeq_epi16(bits, mask));
    }
    return _mm256_testz_si256(found, found) == 0;
  }
};

}  // namespace

const Kernels* avx2_kernels() { return &kernels_of<Avx2>; }

}  // namespace spillway::hw_backend

#else

namespace spillway::hw_backend {
const Kernels* avx2_kernels() { return nullptr; }
}  // namespace spillway::hw_backend

#endif
