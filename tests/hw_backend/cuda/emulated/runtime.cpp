#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/hw_backend/cuda/emulated/cuda_runtime.h"

struct EmulatedStream {
  int device;
};

namespace {

struct Machine {
  std::mutex mutex;
  struct Block {
    std::size_t bytes;
    int device;  ///< -1: registered host memory
  };
  std::map<const char*, Block> blocks;
  std::size_t used[emulated::devices] = {};
  std::size_t mallocs = 0;
  std::atomic<bool> broken{false}, connected{true};
};
Machine machine;
thread_local int current = 0;

}  // namespace

namespace emulated {
void break_devices(bool broken) { machine.broken = broken; }
void connect_peers(bool connected) { machine.connected = connected; }
std::size_t mallocs() {
  const std::lock_guard lock(machine.mutex);
  return machine.mallocs;
}
}  // namespace emulated

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "cudaErrorInvalidValue";
  }
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = emulated::devices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= emulated::devices) return cudaErrorInvalidDevice;
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated device");
  properties->totalGlobalMem = emulated::device_bytes;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(machine.mutex);
  *total = emulated::device_bytes;
  *free = *total - machine.used[current];
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return machine.broken ? cudaErrorIllegalAddress : cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const std::lock_guard lock(machine.mutex);
  ++machine.mallocs;
  if (machine.used[current] + bytes > emulated::device_bytes) return cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  machine.used[current] += bytes;
  machine.blocks[static_cast<const char*>(*memory)] = {bytes, current};
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.blocks.find(static_cast<const char*>(memory));
  if (found == machine.blocks.end() || found->second.device < 0) return cudaErrorInvalidValue;
  machine.used[found->second.device] -= found->second.bytes;
  machine.blocks.erase(found);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  const std::lock_guard lock(machine.mutex);
  const bool added = machine.blocks.insert({static_cast<const char*>(memory), {bytes, -1}}).second;
  return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}
cudaError_t cudaHostUnregister(void* memory) {
  const std::lock_guard lock(machine.mutex);
  return machine.blocks.erase(static_cast<const char*>(memory)) == 1 ? cudaSuccess
                                                                     : cudaErrorInvalidValue;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  const std::lock_guard lock(machine.mutex);
  *attributes = {};
  const auto* const at = static_cast<const char*>(memory);
  auto found = machine.blocks.upper_bound(at);
  if (found == machine.blocks.begin()) return cudaSuccess;
  --found;
  if (at >= found->first + found->second.bytes) return cudaSuccess;
  const bool host = found->second.device < 0;
  *attributes = {host ? cudaMemoryTypeHost : cudaMemoryTypeDevice, found->second.device};
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  std::memset(memory, value, bytes);
  return cudaGetLastError();
}
cudaError_t cudaMemcpyAsync(void* into, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memmove(into, from, bytes);
  return cudaGetLastError();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream{current};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaGetLastError(); }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaGetLastError(); }
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* argument) {
  if (!machine.broken) function(argument);  // a real device takes it and never calls
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = machine.connected ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
