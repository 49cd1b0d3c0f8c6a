#include "hw_backend/cuda/lane.hpp"

#include <chrono>
#include <utility>

#include "hw_backend/cuda/cuda_error.hpp"

namespace spillway::hw_backend {

namespace {

constexpr std::chrono::milliseconds between_looks(100);

}  // namespace

Lane::Lane(int device) : device_(device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  thread_ = std::thread([this] { serve(); });
}

Lane::~Lane() {
  quiesce();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  cudaStreamDestroy(stream_);
}

void Lane::add(std::function<void()> enqueue, Done done) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(enqueue), std::move(done)});
  }
  changed_.notify_all();
}

void Lane::quiesce() {
  std::deque<Job> dropped;
  std::deque<Enqueued> ended;
  {
    std::unique_lock lock(mutex_);
    dropped.swap(jobs_);
    dropping_ = true;
    changed_.wait(lock, [this] { return !busy_; });
  }
  // of a device that failed there is nothing to wait for, and nobody to tell
  static_cast<void>(cudaStreamSynchronize(stream_));
  const std::lock_guard lock(mutex_);
  ended.swap(enqueued_);
  dropping_ = false;
}

void Lane::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto something = [this] { return stopping_ || !jobs_.empty(); };
    if (enqueued_.empty())
      changed_.wait(lock, [&] { return something() || !enqueued_.empty(); });
    else
      changed_.wait_for(lock, between_looks, something);
    if (stopping_) return;
    if (jobs_.empty()) {
      lock.unlock();
      look_for_faults(cudaSuccess);
      lock.lock();
      continue;
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    enqueue(std::move(job));
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Lane::enqueue(Job job) {
  Enqueued entry;
  entry.done = std::move(job.done);
  try {
    check(cudaSetDevice(device_), "cudaSetDevice");
    job.enqueue();
  } catch (...) {
    entry.error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    enqueued_.push_back(std::move(entry));
  }
  // what was enqueued before an error uses its memory still: the error waits for its turn, too
  const cudaError_t refused = cudaLaunchHostFunc(stream_, finished, this);
  if (refused != cudaSuccess) look_for_faults(refused);
}

void Lane::finished(void* lane) { static_cast<Lane*>(lane)->finish_first(); }

void Lane::finish_first() {
  Enqueued first;
  bool told = false;
  {
    const std::lock_guard lock(mutex_);
    if (enqueued_.empty()) return;  // its Done has had the device's fault
    first = std::move(enqueued_.front());
    enqueued_.pop_front();
    told = !dropping_;
  }
  if (told && first.done) first.done(first.error);
}

void Lane::look_for_faults(cudaError_t known) {
  const cudaError_t state = known != cudaSuccess ? known : cudaStreamQuery(stream_);
  if (state == cudaSuccess || state == cudaErrorNotReady) return;
  std::exception_ptr fault;
  try {
    check(state, "a kernel or copy on a stream");
  } catch (...) {
    fault = std::current_exception();
  }
  std::deque<Enqueued> failed;
  bool told = false;
  {
    const std::lock_guard lock(mutex_);
    failed.swap(enqueued_);
    told = !dropping_;
  }
  for (Enqueued& entry : failed)
    if (told && entry.done) entry.done(entry.error ? entry.error : fault);
}

}  // namespace spillway::hw_backend
