#pragma once

#include <cstddef>

#include "hw_backend/cpu/element.hpp"
#include "hw_backend/cpu/team.hpp"

namespace spillway::hw_backend {

/// into[i] = from[i], n elements: exact when widened, to nearest even when narrowed (fp16 and bf16
/// meet in fp32). Equal types are copied bit by bit. The arrays do not overlap, except that `into`
/// may be `from` when both types have one size.
void convert(Array into, ConstArray from, std::size_t n, Team& team);

/// into[i] = a[i] + b[i], n elements: the sum in fp32, rounded once to into's type; a NaN is
/// stored as in `adam`. `into` may be `a` or `b` of one element size with it; no other overlap.
void add(Array into, ConstArray a, ConstArray b, std::size_t n, Team& team);

/// `bytes` from `from` to `into`, which do not overlap.
void copy(void* into, const void* from, std::size_t bytes, Team& team);

}  // namespace spillway::hw_backend
