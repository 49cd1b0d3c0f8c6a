#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "tests/hw_backend/cuda/emulated/cuda_runtime.h"

namespace {

/// What all streams wait on: work that comes, work that ends, events, being let go.
std::mutex streams_mutex;
std::condition_variable streams_changed;
bool streams_held = false;
std::set<EmulatedStream*> streams;
std::atomic<double> copy_s{0};

}  // namespace

/// A thread that does what it is given, in that order.
struct EmulatedStream {
  int device;
  std::deque<std::function<void()>> work{};
  bool busy = false, ending = false;
  std::thread thread{};

  explicit EmulatedStream(int of) : device(of) {
    thread = std::thread([this] { serve(); });
  }
  ~EmulatedStream() {
    {
      const std::lock_guard lock(streams_mutex);
      ending = true;
    }
    streams_changed.notify_all();
    thread.join();
  }
  EmulatedStream(const EmulatedStream&) = delete;

  bool idle() const { return work.empty() && !busy; }  // under the mutex

  void serve() {
    std::unique_lock lock(streams_mutex);
    for (;;) {
      streams_changed.wait(
          lock, [this] { return (ending || !streams_held) && (ending || !work.empty()); });
      if (work.empty()) return;
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      busy = true;
      lock.unlock();
      next();
      lock.lock();
      busy = false;
      streams_changed.notify_all();
    }
  }
};

struct EmulatedEvent {
  /// How often it was recorded, by the caller and then by the stream that got there; streams may
  /// still ask for it when the event is gone.
  struct Times {
    std::uint64_t asked = 0, reached = 0;
  };
  std::shared_ptr<Times> times = std::make_shared<Times>();
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
void slow_copies(double seconds) { copy_s = seconds; }
void hold_streams(bool held) {
  {
    const std::lock_guard lock(streams_mutex);
    streams_held = held;
  }
  streams_changed.notify_all();
}
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
/// Waits for the device, as CUDA does.
cudaError_t cudaFree(void* memory) {
  {
    std::unique_lock lock(streams_mutex);
    streams_changed.wait(lock, [] {
      return std::all_of(streams.begin(), streams.end(),
                         [](const EmulatedStream* stream) { return stream->idle(); });
    });
  }
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

cudaError_t enqueue_emulated(cudaStream_t stream, std::function<void()> work) {
  if (const cudaError_t error = cudaGetLastError()) return error;
  {
    const std::lock_guard lock(streams_mutex);
    stream->work.push_back([work = std::move(work)] {
      if (!machine.broken) work();
    });
  }
  streams_changed.notify_all();
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return enqueue_emulated(stream, [=] { std::memset(memory, value, bytes); });
}
cudaError_t cudaMemcpyAsync(void* into, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return enqueue_emulated(stream, [=] {
    if (copy_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(copy_s));
    std::memmove(into, from, bytes);
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream(current);
  const std::lock_guard lock(streams_mutex);
  streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(streams_mutex);
    streams.erase(stream);
  }
  streams_changed.notify_all();
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  std::unique_lock lock(streams_mutex);
  streams_changed.wait(lock, [&] { return stream->idle(); });
  return cudaGetLastError();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t error = cudaGetLastError()) return error;
  const std::lock_guard lock(streams_mutex);
  return stream->idle() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  // a broken device takes it and never calls
  const cudaError_t error = enqueue_emulated(stream, [=] { function(argument); });
  return machine.broken ? cudaSuccess : error;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new EmulatedEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  std::uint64_t time = 0;
  {
    const std::lock_guard lock(streams_mutex);
    time = ++event->times->asked;
  }
  return enqueue_emulated(stream, [time, times = event->times] {
    {
      const std::lock_guard lock(streams_mutex);
      times->reached = time;
    }
    streams_changed.notify_all();
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  std::uint64_t time = 0;
  {
    const std::lock_guard lock(streams_mutex);
    time = event->times->asked;
  }
  if (time == 0) return cudaErrorInvalidValue;
  return enqueue_emulated(stream, [time, times = event->times] {
    std::unique_lock lock(streams_mutex);
    streams_changed.wait(lock, [&] { return times->reached >= time || machine.broken; });
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = machine.connected ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
