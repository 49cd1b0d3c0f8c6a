#pragma once

#include "hw_backend/cuda/open.hpp"
#include "hw_backend/machine/real_run.hpp"
#include "scenarios/description/machine_file.hpp"

/// What computes in a real run: CUDA devices or the host in their place.
namespace spillway::answers {

/// What of a run decides about its devices.
struct DeviceNeeds {
  std::string wish = "auto";
  bool paced = false;
  bool host_profile = false;  ///< of a server whose GPUs are its own memory
  bool gds = false;
  bool synthetic = false;
};

/// What this server has. Asked only when it matters: a driver takes its time.
struct CudaHere {
  std::function<hw_backend::CudaDevices()> devices;
  std::function<std::string()> gds_missing;
};
CudaHere cuda_here();

/// Who computes, and why.
struct DeviceChoice {
  int cuda_devices = 0;  ///< 0: host devices
  std::string why;       ///< "no CUDA device: ...", for the report

  bool cuda() const { return cuda_devices > 0; }
  /// The rank's CUDA device; more ranks than devices share them.
  int ordinal(std::size_t rank) const {
    return static_cast<int>(rank % static_cast<std::size_t>(cuda_devices));
  }
};

/// auto: CUDA devices where nothing is in the way.
///   Throws  ScenarioError: they are asked for and something is
DeviceChoice choose_device(const DeviceNeeds& needs, const CudaHere& here);

/// Empty for host devices.
hw_backend::MakeDevice make_device(const DeviceChoice& choice);

/// What each of `ranks` may have of its CUDA device, with all of them open: the same for all, so
/// that of the smallest.
struct DeviceMemory {
  std::uint64_t memory = 0;   ///< all
  std::uint64_t context = 0;  ///< of it, in use before a run takes any, by any program
  std::string source;         ///< for the machine file
};
///   Throws  DeviceError
DeviceMemory memory_of_devices(const DeviceChoice& choice, std::uint64_t ranks);

/// The machine with what its CUDA devices really give; unchanged for host devices.
description::MachineFile with_device_memory(description::MachineFile machine,
                                            const DeviceChoice& choice, std::uint64_t ranks);

/// Puts GPUDirect Storage around a run's engine; empty for host devices.
decltype(hw_backend::RealRunOptions::around_engine) around_engine(const DeviceChoice& choice,
                                                                  bool gds);

}  // namespace spillway::answers
