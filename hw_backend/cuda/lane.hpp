#pragma once

#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hw_backend/cuda/device_clock.hpp"
#include "hw_backend/device/device.hpp"

namespace spillway::hw_backend {

/// A CUDA stream and its two threads. One enqueues: launches, and copies of pageable memory that
/// CUDA makes at once, block nobody else. The other waits for the event behind each job, in order,
/// and calls its Done with the device's times, or with the device's fault.
///   Source  of the times: an event before a job's first part and one behind each part
class Lane {
 public:
  using Enqueue = std::function<void()>;

  /// On `device`, which is the calling thread's; `clock` outlives it.
  Lane(int device, DeviceClock& clock);
  /// What waits is dropped, what runs is waited for; no Done is called.
  ~Lane();
  Lane(const Lane&) = delete;

  cudaStream_t stream() const { return stream_.get(); }
  /// Both put work on the stream, with the device as the thread's own.
  ///   before  what the job waits for, which is no part of its time
  void add(Enqueue before, std::vector<Enqueue> parts, Done done);
  /// How many jobs were added: names the last of them for `wait_on_stream`.
  std::uint64_t last_job() const;
  /// `stream` does nothing further before the job `number`, one that was added, has ended. The
  /// calling thread, another lane's, waits until that job is on this stream: an event can be waited
  /// for only once it is there.
  void wait_on_stream(cudaStream_t stream, std::uint64_t number);
  /// Drops what has not been enqueued and waits for what has; nobody is told of either.
  ///   Result  false: it has not ended within `limit_s`
  [[nodiscard]] bool quiesce(double limit_s);

 private:
  struct Job {
    std::uint64_t number = 0;
    Enqueue before;
    std::vector<Enqueue> parts;
    Done done;
  };
  /// What is on the stream, in its order.
  struct Enqueued {
    std::uint64_t number = 0;
    Done done;
    std::exception_ptr error{};
    std::vector<std::shared_ptr<Event>> events{};  ///< before the first part, behind each
  };
  void serve();
  void enqueue(Job job);
  void record(Enqueued& entry);
  std::shared_ptr<Event> unused_event();
  void notify();
  JobEnd end_of(const Enqueued& entry);

  int device_;
  DeviceClock& clock_;
  CudaStream stream_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t added_ = 0, handled_ = 0;       ///< jobs added; enqueued or dropped, of those
  std::vector<std::shared_ptr<Event>> events_;  ///< of jobs that ended, to be used again
  std::deque<Job> jobs_;
  std::deque<Enqueued> enqueued_;  ///< the first until its Done has returned
  bool busy_ = false, stopping_ = false, dropping_ = false;
  std::thread serving_, notifying_;
};

}  // namespace spillway::hw_backend
