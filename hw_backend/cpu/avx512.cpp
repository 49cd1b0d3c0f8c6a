#include "hw_backend/cpu/kernels.hpp"

#if defined(__x86_64__)
// g++ 12 takes its own "undefined" operand of unmasked intrinsics for a fault (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

// What follows may use these instructions; what was included above may not.
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c,avx2,prefer-vector-width=512")
#include "hw_backend/cpu/vector_kernels.hpp"

namespace spillway::hw_backend {

namespace {

struct Avx512 {
  using Float = __m512;
  static constexpr std::size_t width = 16;
  static constexpr std::size_t alignment = 64;

  static Float all(float value) { return _mm512_set1_ps(value); }

  static Float load(Element type, const std::byte* from) {
    if (type == Element::fp32) return _mm512_loadu_ps(from);
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if (type == Element::fp16) return _mm512_cvtph_ps(bits);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }

  template <bool streamed>
  static void store(Element type, std::byte* into, Float value) {
    if (type == Element::fp32) {
      if constexpr (streamed) {
        _mm512_stream_ps(reinterpret_cast<float*>(into), value);
      } else {
        _mm512_storeu_ps(into, value);
      }
      return;
    }
    const __m256i bits = type == Element::fp16
                             ? _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
                             : bf16(value);
    if constexpr (streamed) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(into), bits);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(into), bits);
    }
  }

  /// fp32_to_bf16; the processor's own vcvtneps2bf16 flushes subnormals.
  static __m256i bf16(Float value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i upper = _mm512_srli_epi32(bits, 16);
    const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i quiet = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(_mm512_srli_epi32(rounded, 16), nan, quiet));
  }

  static Float root(Float value) { return _mm512_sqrt_ps(value); }

  static Float tamed(Float value) {
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(value, nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7FC00000)));
  }

  static void fence() { _mm_sfence(); }

  static void copy(std::byte* into, const std::byte* from, std::size_t bytes) {
    const std::size_t head = std::min(
        bytes, (alignment - reinterpret_cast<std::uintptr_t>(into) % alignment) % alignment);
    std::memcpy(into, from, head);
    std::size_t i = head;
    for (; i + 64 <= bytes; i += 64) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(into + i), _mm512_loadu_si512(from + i));
    }
    std::memcpy(into + i, from + i, bytes - i);
    fence();
  }

  /// Of the 4096 bytes at `data`.
  template <class Bits>
  static bool any_has_all(const std::byte* data, Bits exponent) {
    const __m512i mask = sizeof(Bits) == 4 ? _mm512_set1_epi32(static_cast<int>(exponent))
                                           : _mm512_set1_epi16(static_cast<short>(exponent));
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < 4096; i += 64) {
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
