#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
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
std::atomic<bool> broken{false}, connected{true};
std::atomic<int> driver_version{13000};
thread_local int current = 0;
thread_local bool in_host_function = false;

/// CUDA lets nobody call it from a host function: some calls fail there, others wait forever.
void require_a_caller() {
  if (!in_host_function) return;
  std::fputs("CUDA was called from a host function\n", stderr);
  std::abort();
}

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

namespace emulated {
void break_devices(bool now) { broken = now; }
void connect_peers(bool now) { connected = now; }
void install_driver(int version) { driver_version = version; }
int current_device() {
  require_a_caller();
  return current;
}
void slow_copies(double seconds) { copy_s = seconds; }
void hold_streams(bool held) {
  {
    const std::lock_guard lock(streams_mutex);
    streams_held = held;
  }
  streams_changed.notify_all();
}
}  // namespace emulated

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "cudaErrorInvalidValue";
  }
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (driver_version < 13000) return cudaErrorInsufficientDriver;
  *count = emulated::devices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  require_a_caller();
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
cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return broken ? cudaErrorIllegalAddress : cudaSuccess; }

namespace {

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  require_a_caller();
  if (const cudaError_t error = cudaGetLastError()) return error;
  {
    const std::lock_guard lock(streams_mutex);
    stream->work.push_back([work = std::move(work)] {
      if (!broken) work();
    });
  }
  streams_changed.notify_all();
  return cudaSuccess;
}

}  // namespace

cudaError_t enqueue_emulated(cudaStream_t stream, std::function<void()> work) {
  return enqueue(stream, [work = std::move(work)] {
    const emulated::DeviceWork open;
    work();
  });
}
void emulated::wait_for_streams() {
  std::unique_lock lock(streams_mutex);
  streams_changed.wait(lock, [] {
    return std::all_of(streams.begin(), streams.end(),
                       [](const EmulatedStream* stream) { return stream->idle(); });
  });
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
  require_a_caller();
  {
    const std::lock_guard lock(streams_mutex);
    streams.erase(stream);
  }
  streams_changed.notify_all();
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  require_a_caller();
  std::unique_lock lock(streams_mutex);
  streams_changed.wait(lock, [&] { return stream->idle(); });
  return cudaGetLastError();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  require_a_caller();
  if (const cudaError_t error = cudaGetLastError()) return error;
  const std::lock_guard lock(streams_mutex);
  return stream->idle() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  // a broken device takes it and never calls
  const cudaError_t error = enqueue(stream, [=] {
    in_host_function = true;
    function(argument);
    in_host_function = false;
  });
  return broken ? cudaSuccess : error;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  require_a_caller();
  *event = new EmulatedEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  require_a_caller();
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  std::uint64_t time = 0;
  {
    const std::lock_guard lock(streams_mutex);
    time = ++event->times->asked;
  }
  return enqueue(stream, [time, times = event->times] {
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
  return enqueue(stream, [time, times = event->times] {
    std::unique_lock lock(streams_mutex);
    streams_changed.wait(lock, [&] { return times->reached >= time || broken; });
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = connected ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
