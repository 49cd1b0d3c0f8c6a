#pragma once

#include "strategies/parts/update/made_gradients.hpp"

namespace spillway::strategies {

/// Looks for inf and NaN in the flat host buffer, elements of w bytes, or in gradients that stay on
/// the GPU; then one flag is agreed on by all ranks.
///   Result    some rank found one: the step must be skipped
///   chained   a = abs(g) [+w], b = (a == inf) [+1], any(b), isnan(g) [+1], any: peak w + 1 B per
///             element beside the buffer, traffic 2w + (w+1) + 1 + (w+1) + 1, on one thread of each
///             rank
///   fused     one pass over the exponent bits: no extra memory, traffic w, all cores
///   none      nothing happens
///   Source    MemAscend III-C and IV-C; DeepSpeed stage3.py, has_overflow
Task<bool> check_overflow(Machine& machine, Rank rank, const Job& job,
                          const MadeGradients& gradients);

}  // namespace spillway::strategies
