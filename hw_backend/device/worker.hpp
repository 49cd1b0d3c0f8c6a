#pragma once

#include "hw_backend/device/device.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace spillway::hw_backend {

/// A thread that does one job after the other.
///   Pacing  a job ends no earlier than `at_least_s` after the worker was free for it; the deadline
///           of one is where the next may begin, so that waking late does not add up. The first
///           `ahead_s` of that passes from when the job was added: also while it waits its turn
class Worker {
 public:
  /// Its thread is `nicer` by so many levels than the caller.
  explicit Worker(int nicer = 0);
  ~Worker();
  Worker(const Worker&) = delete;

  void add(double at_least_s, std::function<void()> work, Done done, double ahead_s = 0);
  /// Drops what has not begun and waits for what has; nobody is told of either.
  ///   Result  false: what had begun has not ended within `limit_s`
  [[nodiscard]] bool quiesce(double limit_s);

  /// How paced jobs went, of those that have a deadline.
  struct Pace {
    std::uint64_t jobs = 0;
    std::uint64_t overruns = 0;  ///< real work took longer than the deadline allows
    double largest_share = 0;    ///< of a deadline, that real work took
    double work_s = 0, paced_s = 0;
    double late_s = 0;  ///< of deadlines that passed while the thread waited for a core

    Pace& operator+=(const Pace& other) {
      jobs += other.jobs;
      overruns += other.overruns;
      largest_share = std::max(largest_share, other.largest_share);
      work_s += other.work_s;
      paced_s += other.paced_s;
      late_s += other.late_s;
      return *this;
    }
  };
  Pace pace() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::optional<std::chrono::nanoseconds> at_least;
    std::chrono::nanoseconds ahead{0};  ///< of at_least
    Clock::time_point queued;
    std::function<void()> work;
    Done done;
  };
  void serve(int nicer);
  void wait_until(Clock::time_point deadline);
  void do_job(Job job, Clock::time_point& free_at);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool busy_ = false, stopping_ = false, dropping_ = false;
  Pace pace_;
  std::thread thread_;
};

}  // namespace spillway::hw_backend
