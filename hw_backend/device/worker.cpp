#include "hw_backend/device/worker.hpp"

#include "hw_backend/cpu/team.hpp"
#include "hw_backend/device/hang.hpp"

#include <algorithm>
#include <chrono>

namespace spillway::hw_backend {

Worker::Worker(int nicer) : thread_([=, this] { serve(nicer); }) {}

Worker::~Worker() {
  if (!quiesce(rest_limit_s)) end_hung_process("a worker's job", rest_limit_s);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::add(double at_least_s, std::function<void()> work, Done done, double ahead_s) {
  const auto nanoseconds = [](double seconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  };
  Job job;
  if (at_least_s > 0) {
    job.at_least = nanoseconds(at_least_s);
    job.ahead = nanoseconds(std::min(ahead_s, at_least_s));
  }
  job.queued = Clock::now();
  job.work = std::move(work);
  job.done = std::move(done);
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

bool Worker::quiesce(double limit_s) {
  std::unique_lock lock(mutex_);
  jobs_.clear();
  dropping_ = true;
  changed_.notify_all();
  const bool rests =
      changed_.wait_for(lock, std::chrono::duration<double>(limit_s), [this] { return !busy_; });
  dropping_ = !rests;
  return rests;
}

Worker::Pace Worker::pace() const {
  const std::lock_guard lock(mutex_);
  return pace_;
}

void Worker::serve(int nicer) {
  be_nicer(nicer);
  Clock::time_point free_at = Clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    do_job(std::move(job), free_at);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

/// Not a sleep: who quiesces must not wait for the deadlines of a slow machine.
void Worker::wait_until(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return dropping_ || Clock::now() >= deadline; });
}

void Worker::do_job(Job job, Clock::time_point& free_at) {
  const Clock::time_point began = Clock::now();
  std::exception_ptr error;
  try {
    job.work();
  } catch (...) {
    error = std::current_exception();
  }
  const Clock::time_point ended = Clock::now();
  Clock::time_point start = began, end = ended;
  if (job.at_least) {
    const Clock::time_point deadline =
        std::max(free_at, job.queued + job.ahead) + (*job.at_least - job.ahead);
    {
      const std::lock_guard lock(mutex_);
      const double work = std::chrono::duration<double>(ended - began).count();
      const double paced = std::chrono::duration<double>(*job.at_least).count();
      ++pace_.jobs;
      pace_.overruns += work > paced;
      if (ended > deadline) pace_.late_s += std::chrono::duration<double>(ended - deadline).count();
      pace_.largest_share = std::max(pace_.largest_share, work / paced);
      pace_.work_s += work;
      pace_.paced_s += paced;
    }
    if (ended < deadline) wait_until(deadline), end = deadline;
  }
  if (job.at_least) start = std::min(end, std::max(free_at, job.queued));
  free_at = end;
  bool told = true;
  {
    const std::lock_guard lock(mutex_);
    told = !dropping_;
  }
  const auto seconds = [](Clock::time_point at) {
    return std::chrono::duration<double>(at.time_since_epoch()).count();
  };
  if (told) job.done({error, seconds(start), seconds(end)});
}

}  // namespace spillway::hw_backend
