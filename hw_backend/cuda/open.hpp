#pragma once

#include "hw_backend/device/device.hpp"

namespace spillway::hw_backend {

/// The executable's side of the plugin: no CUDA here, and none needed to call it.

/// What this machine has. Never throws.
struct CudaDevices {
  int count = 0;
  std::string why_none;  ///< "no CUDA device: ..."; empty when there is one
};
CudaDevices cuda_devices();

/// A rank's device; several ranks may have the same one, each with streams of its own.
///   Throws  DeviceError "no CUDA device: ..." without plugin, driver, device or cuBLAS
std::unique_ptr<Device> open_cuda_device(int ordinal);

/// Bytes of a device's memory: all, and free now.
struct CudaMemory {
  std::uint64_t total = 0, available = 0;
};
CudaMemory cuda_memory(int ordinal);

/// Makes the device the calling thread's own, as cuFile wants it.
void use_cuda_device(int ordinal);

}  // namespace spillway::hw_backend
