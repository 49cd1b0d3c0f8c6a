#pragma once

#include "hw_backend/device.hpp"
#include "hw_backend/real_work.hpp"
#include "strategies/operation.hpp"

namespace spillway::hw_backend {

/// An operation and what it computes.
struct RealOperation : strategies::Operation {
  std::vector<RawGpuKernel> gpu_kernels;
  RawCpuKernel cpu_kernel;
  std::size_t parts_left = 0;  ///< transfers of a read or write that have not ended
  std::exception_ptr failure;
  Stream queue = Stream::compute;  ///< of the device's, where it lies at `place`
  std::uint64_t place = 0;         ///< 0: nowhere that another call could wait for
  bool ended = false;              ///< before the loop heard that what it waits for has
};

}  // namespace spillway::hw_backend
