#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <vector>

#include "hw_backend/cuda/cuda_stream.hpp"

namespace spillway::hw_backend {

/// An event of CUDA that knows when it was, waited for without spinning.
class Event {
 public:
  /// Throws  DeviceError
  Event();
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// The clock of a device, whose events know only how far apart they were, on the clock of the host.
///   Anchor  an event on an idle stream, which the host saw between two looks at its own clock; a
///           new one where the last is older than `anchor_s`, as the clocks drift
///   Threads any, with the device as their own
class DeviceClock {
 public:
  static constexpr double anchor_s = 0.25;

  /// Of the calling thread's device.
  ///   Throws  DeviceError
  DeviceClock();
  DeviceClock(const DeviceClock&) = delete;

  /// When `events`, which have happened, did: seconds of `host_now_s`. By one anchor, so that
  /// between them lies what the device says.
  ///   Throws  DeviceError
  std::vector<double> host_s(const std::vector<std::shared_ptr<Event>>& events);
  /// Half the time between the two looks, and by how much the last anchor missed the next: the most
  /// so far.
  double error_s() const;

 private:
  struct Anchor {
    std::unique_ptr<Event> event;
    double host_s = 0, half_s = 0;
  };
  Anchor look() const;
  Anchor best_look() const;
  void renew();
  double by_anchor(cudaEvent_t event) const;

  CudaStream stream_;
  mutable std::mutex mutex_;
  Anchor anchor_;
  double error_s_ = 0;
};

}  // namespace spillway::hw_backend
