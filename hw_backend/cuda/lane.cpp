#include "hw_backend/cuda/lane.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "hw_backend/cuda/cuda_error.hpp"
#include "hw_backend/hang.hpp"

namespace spillway::hw_backend {

namespace {

constexpr std::chrono::milliseconds between_looks(100);
constexpr std::chrono::microseconds between_queries(200);

}  // namespace

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

Lane::Lane(int device) : device_(device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  thread_ = std::thread([this] { serve(); });
}

Lane::~Lane() {
  if (!quiesce(rest_limit_s)) end_hung_process("a stream of a CUDA device", rest_limit_s);
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
    jobs_.push_back({++given_, std::move(enqueue), std::move(done)});
  }
  changed_.notify_all();
}

std::uint64_t Lane::given() const {
  const std::lock_guard lock(mutex_);
  return given_;
}

void Lane::let_wait(cudaStream_t stream, std::uint64_t place) {
  std::shared_ptr<Event> behind;  // none: it has ended, or was dropped
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return passed_ >= place; });
    for (const Enqueued& entry : enqueued_)
      if (entry.place == place) behind = entry.behind;
  }
  if (behind) check(cudaStreamWaitEvent(stream, behind->get(), 0), "cudaStreamWaitEvent");
}

bool Lane::quiesce(double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::duration<double>(limit_s);
  std::deque<Job> dropped;
  std::deque<Enqueued> ended;
  {
    std::unique_lock lock(mutex_);
    dropped.swap(jobs_);
    passed_ = given_;  // lanes that wait for what was dropped go on
    dropping_ = true;
    changed_.notify_all();
    if (!changed_.wait_until(lock, limit, [this] { return !busy_; })) return false;
  }
  // of a device that failed there is nothing to wait for, and nobody to tell
  while (cudaStreamQuery(stream_) == cudaErrorNotReady) {
    if (Clock::now() >= limit) return false;
    std::this_thread::sleep_for(between_queries);
  }
  const std::lock_guard lock(mutex_);
  ended.swap(enqueued_);
  dropping_ = false;
  return true;
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
  entry.place = job.place;
  entry.done = std::move(job.done);
  try {
    check(cudaSetDevice(device_), "cudaSetDevice");
    job.enqueue();
  } catch (...) {
    entry.error = std::current_exception();
  }
  try {
    entry.behind = unused_event();
    check(cudaEventRecord(entry.behind->get(), stream_), "cudaEventRecord");
  } catch (...) {
    if (!entry.error) entry.error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    enqueued_.push_back(std::move(entry));
    passed_ = std::max(passed_, job.place);
  }
  changed_.notify_all();
  // what was enqueued before an error uses its memory still: the error waits for its turn, too
  const cudaError_t refused = cudaLaunchHostFunc(stream_, finished, this);
  if (refused != cudaSuccess) look_for_faults(refused);
}

/// One that no stream waits for any more: other lanes share it while they say so to CUDA.
std::shared_ptr<Event> Lane::unused_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty() && events_.back().use_count() == 1) {
      std::shared_ptr<Event> event = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  return std::make_shared<Event>();
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
    // kept: to destroy it would be a call of CUDA
    if (first.behind) events_.push_back(std::move(first.behind));
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
