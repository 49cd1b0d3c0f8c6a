#pragma once

#include <cstddef>

#include "hw_backend/cpu/element.hpp"
#include "hw_backend/cpu/team.hpp"

namespace spillway::hw_backend {

/// True when one of the n values is infinite or NaN: one pass over the exponent bits on all
/// threads, which stops within a few KiB of the first find. No memory beside the array.
///   Source  MemAscend, IV-C
bool check_fused(ConstArray values, std::size_t n, Team& team);

/// The same answer as PyTorch's tensor.isinf().any() or tensor.isnan().any() finds it, five whole
/// passes on the calling thread:
///   absolute = abs(values); matches = (absolute == inf); any(matches);
///   matches = (values != values); any(matches)
///   absolute  n elements of the values' type     matches  n bytes     both are overwritten
///   Traffic   of w bytes an element: 2w + (w + 1) + 1 + (w + 1) + 1; 20 B for fp32
///   Source    MemAscend, III-C; PyTorch's isinf compares abs() with infinity
bool check_chained(ConstArray values, std::size_t n, Array absolute, std::byte* matches,
                   Isa isa = best_isa());

}  // namespace spillway::hw_backend
