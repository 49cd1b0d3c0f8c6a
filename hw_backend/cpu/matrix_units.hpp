#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

/// Units of processors that multiply matrices of bf16 with sums in fp32. No training here uses one:
/// their sums have no order that other devices could repeat. They are measured, as code that
/// multiplies on the CPU reaches their rates.
namespace spillway::hw_backend {

/// avx512_bf16  dot products of pairs, 512 bits wide
/// amx          tiles of 16 rows of 64 bytes
enum class MatrixUnit : std::uint8_t { avx512_bf16, amx };

std::string_view to_string(MatrixUnit unit);

/// Those that this processor has and its system lets this process use.
std::vector<MatrixUnit> available_matrix_units();

/// c [rows, columns] fp32 = a [rows, inner] b [inner, columns], both bf16, on the calling thread.
///   b      two rows after the other in pairs: [inner / 2, columns, 2]
///   sizes  multiples of 32
struct UnitProduct {
  const std::uint16_t* a = nullptr;
  const std::uint16_t* b = nullptr;
  float* c = nullptr;
  std::uint64_t rows = 0, columns = 0, inner = 0;
};
void multiply(MatrixUnit unit, const UnitProduct& product);

}  // namespace spillway::hw_backend
