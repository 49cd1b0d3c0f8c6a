#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace spillway::hw_backend {

/// Instruction sets the kernels are written for; all give the same bits. `portable` runs anywhere,
/// `avx2` needs F16C too, `avx512` needs F, BW, DQ and VL.
enum class Isa : std::uint8_t { portable, avx2, avx512 };

std::string_view to_string(Isa isa);

/// Those that this processor and its operating system support; ascending, `portable` first.
std::vector<Isa> available_isas();

/// The last of `available_isas()`.
Isa best_isa();

}  // namespace spillway::hw_backend
