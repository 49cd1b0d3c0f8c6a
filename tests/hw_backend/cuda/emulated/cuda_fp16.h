#pragma once

#include <cstdint>

#include "hw_backend/cpu/element.hpp"

struct __half {
  std::uint16_t bits;
};
inline __half __ushort_as_half(std::uint16_t bits) { return {bits}; }
inline std::uint16_t __half_as_ushort(__half value) { return value.bits; }
inline float __half2float(__half value) { return spillway::hw_backend::fp16_to_fp32(value.bits); }
inline __half __float2half_rn(float value) { return {spillway::hw_backend::fp32_to_fp16(value)}; }
