#pragma once

#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "hw_backend/device.hpp"

namespace spillway::hw_backend {

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
  /// Drops what has not been enqueued and waits for what has; nobody is told of either.
  void quiesce();

 private:
  struct Job {
    std::function<void()> enqueue;
    Done done;
  };
  /// What is on the stream, in its order.
  struct Enqueued {
    Done done;
    std::exception_ptr error;
  };
  static void finished(void* lane);
  void serve();
  void enqueue(Job job);
  void finish_first();
  /// `known`, when it is no success, or what the stream says, ends all that is on the stream.
  void look_for_faults(cudaError_t known);

  int device_;
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::deque<Enqueued> enqueued_;
  bool busy_ = false, stopping_ = false, dropping_ = false;
  std::thread thread_;
};

}  // namespace spillway::hw_backend
