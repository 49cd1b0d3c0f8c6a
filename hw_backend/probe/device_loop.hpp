#pragma once

#include "hw_backend/device/device.hpp"
#include "hw_backend/device/hang.hpp"
#include "hw_backend/device/host_memory.hpp"
#include "hw_backend/storage/io_engine.hpp"

#include <atomic>
#include <mutex>

namespace spillway::hw_backend {

/// Enqueues work on a device and waits for it as RealMachine does: in the engine's `wait`, which
/// the device's thread ends. So what it measures includes the way there and back.
class DeviceLoop {
 public:
  /// Both outlive it.
  ///   limit_s  no call honestly takes longer: the process ends by name
  DeviceLoop(Device& device, IoEngine& engine, double limit_s = rest_limit_s)
      : device_(device), engine_(engine), limit_s_(limit_s) {}

  Device& device() { return device_; }
  /// These return once the work has ended, and throw its error.
  void run(const std::function<void(Primitives&)>& work);
  void copy(Stream stream, std::byte* into, const std::byte* from, std::uint64_t bytes,
            unsigned times = 1);
  /// Copies each way at once.
  void copy_both(std::byte* to_device, const std::byte* from_host, std::byte* to_host,
                 const std::byte* from_device, std::uint64_t bytes, unsigned times = 1);

 private:
  Done done();
  void wait();

  Device& device_;
  IoEngine& engine_;
  double limit_s_;
  std::atomic<int> left_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// `work` as a part of Session::steady_rate.
inline std::function<void(unsigned)> repeated(DeviceLoop& loop,
                                              std::function<void(Primitives&)> work) {
  return [&loop, work = std::move(work)](unsigned times) {
    loop.run([&](Primitives& device) {
      for (unsigned i = 0; i < times; ++i) work(device);
    });
  };
}

/// Memory of a device that goes with this.
class DeviceArea {
 public:
  DeviceArea(Device& device, std::uint64_t bytes)
      : device_(device), bytes_(bytes), data_(device.allocate(bytes)) {}
  ~DeviceArea() { device_.free(data_, bytes_); }
  DeviceArea(const DeviceArea&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Device& device_;
  std::uint64_t bytes_;
  std::byte* data_;
};

/// Locked host memory that the device and the engine know, as RealMachine's pinned memory.
class PinnedMemory {
 public:
  ///   device  may be null
  PinnedMemory(std::uint64_t bytes, Device* device, IoEngine* engine);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  /// The kernel may still write to it: it is never freed.
  void abandon() { data_ = nullptr; }

 private:
  MemoryBudget budget_;
  HostMemory memory_{budget_, true};
  std::uint64_t bytes_;
  std::byte* data_;
  Device* device_;
  IoEngine* engine_;
};

}  // namespace spillway::hw_backend
