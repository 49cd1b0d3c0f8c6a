#include "hw_backend/cuda/lane.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "hw_backend/cuda/cuda_error.hpp"
#include "hw_backend/device/hang.hpp"

namespace spillway::hw_backend {

Lane::Lane(int device, DeviceClock& clock) : device_(device), clock_(clock) {
  serving_ = std::thread([this] { serve(); });
  notifying_ = std::thread([this] { notify(); });
}

Lane::~Lane() {
  if (!quiesce(rest_limit_s)) end_hung_process("a stream of a CUDA device", rest_limit_s);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  serving_.join();
  notifying_.join();
}

void Lane::add(Enqueue before, std::vector<Enqueue> parts, Done done) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({++added_, std::move(before), std::move(parts), std::move(done)});
  }
  changed_.notify_all();
}

std::uint64_t Lane::last_job() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

void Lane::wait_on_stream(cudaStream_t stream, std::uint64_t number) {
  std::shared_ptr<Event> behind;  // none: it has ended, or was dropped
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return handled_ >= number; });
    for (const Enqueued& entry : enqueued_)
      if (entry.number == number && !entry.events.empty()) behind = entry.events.back();
  }
  if (behind) check(cudaStreamWaitEvent(stream, behind->get(), 0), "cudaStreamWaitEvent");
}

bool Lane::quiesce(double limit_s) {
  std::deque<Job> dropped;
  std::unique_lock lock(mutex_);
  dropped.swap(jobs_);
  handled_ = added_;  // lanes that wait for what was dropped go on
  dropping_ = true;
  changed_.notify_all();
  const bool rests = changed_.wait_for(lock, std::chrono::duration<double>(limit_s),
                                       [this] { return !busy_ && enqueued_.empty(); });
  dropping_ = !rests;
  return rests;
}

void Lane::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
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
  Enqueued entry{job.number, std::move(job.done)};
  try {
    check(cudaSetDevice(device_), "cudaSetDevice");
    if (job.before) job.before();
    record(entry);
    for (const Enqueue& part : job.parts) {
      part();
      record(entry);
    }
  } catch (...) {
    entry.error = std::current_exception();
  }
  try {
    // what was enqueued before an error uses its memory still: the error waits for its turn, too
    if (entry.error) record(entry);
  } catch (...) {
    entry.events.clear();
  }
  {
    const std::lock_guard lock(mutex_);
    enqueued_.push_back(std::move(entry));
    handled_ = std::max(handled_, job.number);
  }
  changed_.notify_all();
}

void Lane::record(Enqueued& entry) {
  std::shared_ptr<Event> event = unused_event();
  check(cudaEventRecord(event->get(), stream_.get()), "cudaEventRecord");
  entry.events.push_back(std::move(event));
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

void Lane::notify() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !enqueued_.empty(); });
    if (enqueued_.empty()) return;
    const Enqueued& first = enqueued_.front();  // others are only added behind it
    lock.unlock();
    const JobEnd end = end_of(first);
    lock.lock();
    if (!dropping_ && first.done) {
      lock.unlock();
      first.done(end);
      lock.lock();
    }
    for (std::shared_ptr<Event>& event : enqueued_.front().events)
      events_.push_back(std::move(event));
    enqueued_.pop_front();
    changed_.notify_all();
  }
}

/// Waits for the job. A device that failed says so to whoever waits.
JobEnd Lane::end_of(const Enqueued& entry) {
  JobEnd end;
  end.error = entry.error;
  try {
    check(cudaSetDevice(device_), "cudaSetDevice");
    const cudaError_t state = entry.events.empty()
                                  ? cudaStreamSynchronize(stream_.get())
                                  : cudaEventSynchronize(entry.events.back()->get());
    check(state, "a kernel or copy on a stream");
    if (!end.error) {
      end.parts_s = clock_.host_s(entry.events);
      end.started_s = end.parts_s.front();
      end.finished_s = end.parts_s.back();
      end.parts_s.erase(end.parts_s.begin());
    }
  } catch (...) {
    if (!end.error) end.error = std::current_exception();
  }
  return end;
}

}  // namespace spillway::hw_backend
