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
std::atomic<double> copy_s{0}, late_s{0};
std::atomic<std::uint64_t> host_calls{0};
std::atomic<bool> broken{false}, connected{true};
std::atomic<std::uint64_t> calls_made{0};
std::atomic<std::int64_t> calls_left{-1};  ///< until the devices break; negative: they do not
std::atomic<int> driver_version{13000};
thread_local int current = 0;
thread_local bool in_host_function = false;

/// What the environment asks of a program that is tested from outside.
const bool breaks_by_environment = [] {
  if (const char* after = std::getenv("EMULATED_CUDA_BREAKS_AFTER"))
    calls_left = std::strtoll(after, nullptr, 10);
  return true;
}();

void break_now() {
  {
    const std::lock_guard lock(streams_mutex);
    broken = true;
  }
  streams_changed.notify_all();
}

/// Counts a call or a piece of work; the one whose turn it is breaks the devices.
cudaError_t count_one() {
  ++calls_made;
  if (calls_left >= 0 && calls_left.fetch_sub(1) == 0) break_now();
  return broken ? cudaErrorIllegalAddress : cudaSuccess;
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
    double at_s = 0;  ///< by the device's clock
  };
  unsigned flags = 0;
  std::shared_ptr<Times> times = std::make_shared<Times>();
};

namespace emulated {
cudaError_t begin_call() {
  // CUDA lets nobody call it from a host function: some calls fail there, others wait forever
  if (in_host_function) {
    std::fputs("CUDA was called from a host function\n", stderr);
    std::abort();
  }
  return count_one();
}
void break_devices(bool now) {
  if (now) break_now();
  broken = now;
}
void break_after(std::uint64_t calls) { calls_left = static_cast<std::int64_t>(calls); }
std::uint64_t calls() { return calls_made; }
void start_anew() {
  calls_left = -1;
  broken = false;
  forget_memory();
}
void connect_peers(bool now) { connected = now; }
void install_driver(int version) { driver_version = version; }
int current_device() { return current; }
int device_of(cudaStream_t stream) { return stream ? stream->device : current; }
void slow_copies(double seconds) { copy_s = seconds; }
void wake_late(double seconds) { late_s = seconds; }
std::uint64_t host_functions() { return host_calls; }
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
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  if (driver_version < 13000) return cudaErrorInsufficientDriver;
  *count = emulated::devices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  if (device < 0 || device >= emulated::devices) return cudaErrorInvalidDevice;
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *properties = {};
  std::strcpy(properties->name, "emulated device");
  properties->totalGlobalMem = emulated::device_bytes;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *version = driver_version;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return broken ? cudaErrorIllegalAddress : cudaSuccess; }

namespace {

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  {
    const std::lock_guard lock(streams_mutex);
    stream->work.push_back([work = std::move(work)] {
      if (!count_one()) work();
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
  emulated::count_copy(into, from);
  return enqueue_emulated(stream, [=] {
    if (copy_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(copy_s));
    std::memmove(into, from, bytes);
  });
}
cudaError_t cudaMemcpy2DAsync(void* into, std::size_t into_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  if (width > into_pitch || width > from_pitch) return cudaErrorInvalidValue;
  emulated::count_copy(into, from);
  return enqueue_emulated(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memmove(static_cast<std::byte*>(into) + row * into_pitch,
                   static_cast<const std::byte*>(from) + row * from_pitch, width);
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *stream = new EmulatedStream(current);
  const std::lock_guard lock(streams_mutex);
  streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t fault = emulated::begin_call();
  {
    const std::lock_guard lock(streams_mutex);
    streams.erase(stream);
  }
  streams_changed.notify_all();
  delete stream;
  return fault;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  std::unique_lock lock(streams_mutex);
  streams_changed.wait(lock, [&] { return stream->idle() || broken; });
  return cudaGetLastError();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  const std::lock_guard lock(streams_mutex);
  return stream->idle() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  // a broken device takes it and never calls
  const cudaError_t error = enqueue(stream, [=] {
    ++host_calls;
    std::this_thread::sleep_for(std::chrono::duration<double>(emulated::host_function_s));
    in_host_function = true;
    function(argument);
    in_host_function = false;
  });
  return broken ? cudaSuccess : error;
}

namespace {
double device_clock_s() {
  const double now_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return (1 + emulated::clock_gain) * now_s - 1000;
}
}  // namespace

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *event = new EmulatedEvent;
  (*event)->flags = flags;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const cudaError_t fault = emulated::begin_call();
  delete event;
  return fault;
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
      times->at_s = device_clock_s();
    }
    streams_changed.notify_all();
  });
}
/// Counts when it has an answer: how often one asks before is chance.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  {
    const std::lock_guard lock(streams_mutex);
    if (!broken && event->times->reached < event->times->asked) return cudaErrorNotReady;
  }
  return emulated::begin_call();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  {
    std::unique_lock lock(streams_mutex);
    streams_changed.wait(lock,
                         [&] { return event->times->reached >= event->times->asked || broken; });
  }
  if (late_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(late_s));
  return cudaGetLastError();
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  const std::lock_guard lock(streams_mutex);
  for (const EmulatedEvent* event : {from, to}) {
    if ((event->flags & cudaEventDisableTiming) || event->times->asked == 0)
      return cudaErrorInvalidValue;
    if (event->times->reached < event->times->asked) return cudaErrorNotReady;
  }
  *ms = static_cast<float>(1e3 * (to->times->at_s - from->times->at_s));
  return cudaSuccess;
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
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *can = connected ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return emulated::begin_call(); }
