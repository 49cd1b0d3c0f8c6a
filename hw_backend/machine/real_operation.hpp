#pragma once

#include "hw_backend/device/device.hpp"
#include "hw_backend/machine/real_work.hpp"
#include "strategies/machine/operation.hpp"

#include <cstdlib>
#include <memory>
#include <optional>

namespace spillway::hw_backend {

/// Work inside a storage, as a worker stands for it: what it reads comes to memory of its own, is
/// computed with there, and what it writes goes back.
struct InsideWork {
  enum class Stage : std::uint8_t { reads, computes, writes };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Part {
    const strategies::Block* extent;
    std::uint64_t offset;
    bool reads, writes;
    std::unique_ptr<std::byte, Free> memory;
  };
  Stage stage = Stage::reads;
  RawCpuKernel kernel;
  std::vector<Part> parts;  ///< parallel to the kernel's operands
};

/// An operation and what it computes.
struct RealOperation : strategies::Operation {
  std::vector<RawGpuKernel> gpu_kernels;
  RawCpuKernel cpu_kernel;
  InsideWork inside;
  std::size_t parts_left = 0;  ///< transfers of a read or write that have not ended
  std::exception_ptr failure;
  Stream queue = Stream::compute;  ///< of the device's, where it is its `call`
  std::uint64_t call = 0;          ///< 0: nowhere that another call could wait for
  std::optional<JobEnd> ended;     ///< before the loop heard that what it waits for has
};

}  // namespace spillway::hw_backend
