#pragma once

#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hw_backend/device.hpp"

namespace spillway::hw_backend {

/// A place in a stream that another can wait for.
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

/// A CUDA stream and the thread that enqueues on it: launches, and copies of pageable memory that
/// CUDA makes at once, block nobody else.
///   Completion  a host function behind the work calls its Done; it calls nothing of CUDA. A device
///               that failed calls no host functions: the thread asks the stream now and then, and
///               every Done gets the error
class Lane {
 public:
  explicit Lane(int device);
  /// What waits is dropped, what runs is waited for; no Done is called.
  ~Lane();
  Lane(const Lane&) = delete;

  cudaStream_t stream() const { return stream_; }
  /// `enqueue` puts work on the stream, with the device as the thread's own.
  void add(std::function<void()> enqueue, Done done);
  /// How many jobs were added: names the last of them for `let_wait`.
  std::uint64_t given() const;
  /// `stream` does nothing further before the job at `place`, one that was added, has ended. The
  /// calling thread, another lane's, waits until that job is on this stream: an event can be waited
  /// for only once it is there.
  void let_wait(cudaStream_t stream, std::uint64_t place);
  /// Drops what has not been enqueued and waits for what has; nobody is told of either.
  ///   Result  false: it has not ended within `limit_s`
  [[nodiscard]] bool quiesce(double limit_s);

 private:
  struct Job {
    std::uint64_t place = 0;
    std::function<void()> enqueue;
    Done done;
  };
  /// What is on the stream, in its order.
  struct Enqueued {
    std::uint64_t place = 0;
    Done done;
    std::exception_ptr error;
    std::shared_ptr<Event> behind;  ///< it, and whatever was enqueued before it
  };
  static void finished(void* lane);
  void serve();
  void enqueue(Job job);
  void finish_first();
  std::shared_ptr<Event> unused_event();
  /// `known`, when it is no success, or what the stream says, ends all that is on the stream.
  void look_for_faults(cudaError_t known);

  int device_;
  cudaStream_t stream_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t given_ = 0, passed_ = 0;        ///< jobs added; enqueued or dropped, of those
  std::vector<std::shared_ptr<Event>> events_;  ///< of jobs that ended, to be used again
  std::deque<Job> jobs_;
  std::deque<Enqueued> enqueued_;
  bool busy_ = false, stopping_ = false, dropping_ = false;
  std::thread thread_;
};

}  // namespace spillway::hw_backend
