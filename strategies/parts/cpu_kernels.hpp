#pragma once

#include "strategies/machine.hpp"

/// The CPU work that parts issue, with its DRAM traffic.
namespace spillway::strategies {

/// First values of `into`, elements of `width` bytes.
///   Traffic   what is written
inline CpuKernel first_values(View into, std::uint64_t width) {
  CpuKernel kernel;
  kernel.work = CpuWork::initialize;
  kernel.elements = into.bytes / width;
  kernel.traffic = into.bytes;
  kernel.operands.emplace_back(std::move(into), models::Access::write);
  return kernel;
}

/// Change of element type, `elements` of `from_width` to `to_width` bytes; `add`: into what is
/// there.
///   Traffic   read from + written to (+ read to, when adding)
inline CpuKernel convert(View into, View from, std::uint64_t elements, std::uint64_t from_width,
                         std::uint64_t to_width, bool add) {
  CpuKernel kernel;
  kernel.work = CpuWork::convert;
  kernel.elements = elements;
  kernel.traffic = elements * (from_width + to_width * (add ? 2 : 1));
  kernel.operands.emplace_back(std::move(into),
                               add ? models::Access::read_write : models::Access::write);
  kernel.operands.emplace_back(std::move(from), models::Access::read);
  return kernel;
}

}  // namespace spillway::strategies
