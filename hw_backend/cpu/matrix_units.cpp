#include "hw_backend/cpu/matrix_units.hpp"

#include "hw_backend/cpu/isa.hpp"
#include "scenarios/description/errors.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#endif

namespace spillway::hw_backend {

std::string_view to_string(MatrixUnit unit) {
  return unit == MatrixUnit::amx ? "AMX" : "AVX-512 BF16";
}

#if defined(__x86_64__)

namespace {

/// Linux gives tiles to processes that ask; 0: it has.
///   Source  Linux, Documentation/arch/x86/xstate.rst: ARCH_REQ_XCOMP_PERM, XTILEDATA
bool may_use_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

/// CPUID leaf 7 of Intel's manual: sub-leaf 0, EDX bits 22 and 24, and sub-leaf 1, EAX bit 5.
bool has_amx() {
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (d >> 22 & 1u) != 0 && (d >> 24 & 1u) != 0;
}
bool has_avx512_bf16() {
  unsigned a = 7, b = 0, c = 1, d = 0;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (a >> 5 & 1u) != 0;
}
bool has_leaf_7() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return a >= 7;
}

/// Eight rows of 32 columns in 16 registers.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void multiply_avx512(
    const UnitProduct& p) {
  constexpr std::uint64_t tall = 8, wide = 32;
  for (std::uint64_t row = 0; row < p.rows; row += tall)
    for (std::uint64_t column = 0; column < p.columns; column += wide) {
      __m512 sums[tall][2];
      for (auto& sum : sums) sum[0] = sum[1] = _mm512_setzero_ps();
      for (std::uint64_t k = 0; k < p.inner; k += 2) {
        const std::uint16_t* const pairs = p.b + k * p.columns + column * 2;
        const auto left = (__m512bh)_mm512_loadu_si512(pairs);
        const auto right = (__m512bh)_mm512_loadu_si512(pairs + 32);
#pragma GCC unroll 8
        for (std::uint64_t i = 0; i < tall; ++i) {
          int pair = 0;
          std::memcpy(&pair, p.a + (row + i) * p.inner + k, sizeof pair);
          const auto both = (__m512bh)_mm512_set1_epi32(pair);
          sums[i][0] = _mm512_dpbf16_ps(sums[i][0], both, left);
          sums[i][1] = _mm512_dpbf16_ps(sums[i][1], both, right);
        }
      }
      for (std::uint64_t i = 0; i < tall; ++i)
        for (std::uint64_t half = 0; half < 2; ++half)
          _mm512_storeu_ps(p.c + (row + i) * p.columns + column + 16 * half, sums[i][half]);
    }
}

/// Of LDTILECFG: palette 1, each tile 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);

/// 32 rows of 32 columns in four tiles, two of a and two of b beside them.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_amx(const UnitProduct& p) {
  const TileShapes shapes;
  _tile_loadconfig(&shapes);
  const std::uint64_t of_a = 2 * p.inner, of_b = 4 * p.columns, of_c = 4 * p.columns;
  for (std::uint64_t row = 0; row < p.rows; row += 32)
    for (std::uint64_t column = 0; column < p.columns; column += 32) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      for (std::uint64_t k = 0; k < p.inner; k += 32) {
        const std::uint16_t* const a = p.a + row * p.inner + k;
        const std::uint16_t* const b = p.b + k * p.columns + 2 * column;
        _tile_loadd(4, a, of_a);
        _tile_loadd(5, a + 16 * p.inner, of_a);
        _tile_loadd(6, b, of_b);
        _tile_loadd(7, b + 32, of_b);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      float* const c = p.c + row * p.columns + column;
      _tile_stored(0, c, of_c);
      _tile_stored(1, c + 16, of_c);
      _tile_stored(2, c + 16 * p.columns, of_c);
      _tile_stored(3, c + 16 * p.columns + 16, of_c);
    }
  _tile_release();
}

}  // namespace

std::vector<MatrixUnit> available_matrix_units() {
  std::vector<MatrixUnit> units;
  if (!has_leaf_7()) return units;
  if (best_isa() == Isa::avx512 && has_avx512_bf16()) units.push_back(MatrixUnit::avx512_bf16);
  if (has_amx() && may_use_tiles()) units.push_back(MatrixUnit::amx);
  return units;
}

void multiply(MatrixUnit unit, const UnitProduct& product) {
  ENSURE(product.rows % 32 == 0 && product.columns % 32 == 0 && product.inner % 32 == 0,
         "a product that is not cut into blocks of 32");
  if (unit == MatrixUnit::amx)
    multiply_amx(product);
  else
    multiply_avx512(product);
}

#else

std::vector<MatrixUnit> available_matrix_units() { return {}; }
void multiply(MatrixUnit, const UnitProduct&) { ENSURE(false, "a unit that no processor has"); }

#endif

}  // namespace spillway::hw_backend
