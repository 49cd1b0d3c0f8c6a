#pragma once

#include "hw_backend/real_work.hpp"
#include "strategies/operation.hpp"

namespace spillway::hw_backend {

/// An operation and what it computes.
struct RealOperation : strategies::Operation {
  std::vector<RawGpuKernel> gpu_kernels;
  RawCpuKernel cpu_kernel;
  std::size_t parts_left = 0;  ///< transfers of a read or write that have not ended
  std::exception_ptr failure;
};

}  // namespace spillway::hw_backend
