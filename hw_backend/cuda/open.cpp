#include "hw_backend/cuda/open.hpp"

#include <dlfcn.h>

#include "hw_backend/cuda/plugin.hpp"
#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

using description::DeviceError;

struct Plugin {
  decltype(&spillway_cuda_count) count = nullptr;
  decltype(&spillway_cuda_make) make = nullptr;
  decltype(&spillway_cuda_memory) memory = nullptr;
  decltype(&spillway_cuda_use) use = nullptr;
};

template <class Function>
void find(void* library, const std::string& file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw DeviceError("no CUDA device: dlsym: " + file + " has no " + name);
}

/// Opened once and never closed: CUDA does not survive that. A failure is tried again.
const Plugin& plugin() {
  static const Plugin opened = [] {
    const std::string file = description::plugin_file("cuda").string();
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      throw DeviceError("no CUDA device: dlopen: " + std::string(why ? why : file) +
                        "; build spillway where nvcc is installed (preset cuda)");
    }
    Plugin found;
    find(library, file, "spillway_cuda_count", found.count);
    find(library, file, "spillway_cuda_make", found.make);
    find(library, file, "spillway_cuda_memory", found.memory);
    find(library, file, "spillway_cuda_use", found.use);
    return found;
  }();
  return opened;
}

std::string no_device(const std::string& why) {
  return why.starts_with("no CUDA device: ") ? why : "no CUDA device: " + why;
}

}  // namespace

CudaDevices cuda_devices() {
  CudaDevices devices;
  try {
    devices.count = plugin().count();
    if (devices.count == 0) devices.why_none = no_device("the driver shows none");
  } catch (const DeviceError& error) {
    devices.why_none = no_device(error.what());
  }
  return devices;
}

std::unique_ptr<Device> open_cuda_device(int ordinal) {
  const CudaDevices devices = cuda_devices();
  if (devices.count == 0) throw DeviceError(devices.why_none);
  if (ordinal < 0 || ordinal >= devices.count)
    throw DeviceError("no CUDA device: number " + std::to_string(ordinal) + " was asked for, " +
                      std::to_string(devices.count) + " are there, counted from 0");
  try {
    return std::unique_ptr<Device>(plugin().make(ordinal));
  } catch (const DeviceError& error) {
    throw DeviceError(no_device(error.what()));
  }
}

CudaMemory cuda_memory(int ordinal) {
  CudaMemory memory;
  plugin().memory(ordinal, &memory.total, &memory.available);
  return memory;
}

void use_cuda_device(int ordinal) { plugin().use(ordinal); }

}  // namespace spillway::hw_backend
