#pragma once

#include "hw_backend/arithmetic/primitives.hpp"

namespace spillway::hw_backend {

/// Enqueues one product, one attention, one norm, and the backward passes of the last two, on what
/// lies at `memory`: kernels and libraries that CUDA loads with their first use are there
/// afterwards, and what they take of the device is not taken from a step's.
///   memory  `warm_up_bytes` of device memory
void warm_up(Primitives& device, std::byte* memory);
inline constexpr std::uint64_t warm_up_bytes = 64 << 10;

}  // namespace spillway::hw_backend
