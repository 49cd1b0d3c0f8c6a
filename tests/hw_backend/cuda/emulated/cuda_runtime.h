#pragma once

// What hw_backend/cuda uses of CUDA, played by the processor: a block's threads are fibers, a
// stream is a thread of its own, device memory is the host's but out of its reach. It finds wrong
// indices, orders, barriers and arguments on machines without a GPU, streams that do not wait for
// each other, hosts that use device memory, and host functions that call CUDA; it says nothing
// about rates.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define CUDART_CB

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorHostMemoryAlreadyRegistered = 712,
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1)
      : x(of_x), y(of_y), z(of_z) {}
};
extern thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) ushort4 {
  std::uint16_t x, y, z, w;
};
struct alignas(16) uint4 {
  std::uint32_t x, y, z, w;
};
struct alignas(8) uint2 {
  std::uint32_t x, y;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline ushort4 make_ushort4(std::uint16_t x, std::uint16_t y, std::uint16_t z, std::uint16_t w) {
  return {x, y, z, w};
}

inline float __uint_as_float(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline std::uint32_t __float_as_uint(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }

struct EmulatedStream;
using cudaStream_t = EmulatedStream*;
using cudaHostFn_t = void (*)(void*);
struct EmulatedEvent;
using cudaEvent_t = EmulatedEvent*;

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2
};
struct cudaPointerAttributes {
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = -2;
};
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor;
};

inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventBlockingSync = 1,
                          cudaEventDisableTiming = 2;
inline constexpr unsigned cudaHostAllocPortable = 1;
inline constexpr unsigned cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2;

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* memory);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* into, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* into, std::size_t into_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
/// By the clock of the device, which is not the processor's: it began at another time, and is fast.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to);
/// An event that was never recorded is an error here; CUDA itself would not wait, and say nothing.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaGetLastError();

/// Runs `thread` for every thread of every block; a block's threads meet in __syncthreads.
void run_emulated(const cudaLaunchConfig_t& config, const std::function<void()>& thread);
/// Has the stream's thread do so.
cudaError_t launch_emulated(const cudaLaunchConfig_t& config, std::function<void()> thread);
/// Adds other work of the device, unless it is broken.
cudaError_t enqueue_emulated(cudaStream_t stream, std::function<void()> work);

/// What tests can ask of the emulated machine.
namespace emulated {
inline constexpr std::size_t device_bytes = std::size_t{512} << 20;
inline constexpr int devices = 2;
/// Streams begin nothing more until they are let go: whatever is enqueued stays there.
void hold_streams(bool held);
/// Each copy takes so much longer.
void slow_copies(double seconds);
/// Who waits for an event goes on so much later than it happened, as threads of a busy machine do.
void wake_late(double seconds);
/// Each host function keeps its stream so much longer: a thread of the driver has to get to it.
inline constexpr double host_function_s = 20e-6;
/// Host functions that were called.
std::uint64_t host_functions();
/// Seconds by which a device's clock gains in one of the processor's.
inline constexpr double clock_gain = 2e-5;
/// From now on every call fails, kernels and copies do nothing, host functions do not run: a fault
/// of the device, which CUDA tells whoever calls anything.
void break_devices(bool broken);
/// So many calls of CUDA and pieces of a stream's work from now the devices break. A program finds
/// the number in EMULATED_CUDA_BREAKS_AFTER.
void break_after(std::uint64_t calls);
/// Calls and pieces of work so far.
std::uint64_t calls();
/// A new process: devices are whole and have no memory in use, no host memory is known.
void start_anew();
/// Whether devices reach each other's memory.
void connect_peers(bool connected);
/// How often cudaMalloc was called.
std::size_t mallocs();
/// How often host memory was registered or unregistered.
std::size_t registrations();
/// Copies to or from host memory that is not registered, which CUDA makes by way of memory of its
/// own while the caller waits.
std::size_t pageable_copies();
/// What a kernel takes of a device's memory with its first launch there, and keeps.
inline constexpr std::size_t kernel_bytes = 32u << 10;
/// A device has no more than that from now on; 0: all of it.
void limit_memory(std::size_t bytes);
/// The version of CUDA that the driver is for, 0: there is none; the runtime's is 13000.
void install_driver(int version);

/// For each call of CUDA to begin with: aborts in a host function; the fault, when there is one.
cudaError_t begin_call();
void forget_memory();
/// The kernel is about to run on the device.
cudaError_t load_kernel(int device, const void* kernel);
/// Counts a copy of pageable memory.
void count_copy(const void* one, const void* other);
int device_of(cudaStream_t stream);
/// While one lives, device memory can be read and written: kernels and copies have one.
struct DeviceWork {
  DeviceWork();
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
};
/// Of the calling thread.
int current_device();
void wait_for_streams();
}  // namespace emulated

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  if (const cudaError_t refused = emulated::load_kernel(emulated::device_of(config->stream),
                                                        reinterpret_cast<const void*>(kernel)))
    return refused;
  return launch_emulated(*config, [kernel, values = std::tuple<Parameters...>(arguments...)] {
    std::apply(kernel, values);
  });
}
