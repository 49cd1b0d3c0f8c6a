#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "hw_backend/cpu/isa.hpp"

namespace spillway::hw_backend {

/// Processors that this process may run on, by its affinity mask; at least 1.
std::size_t usable_cores();

/// The calling thread gets its core after others by so many levels of nice(2), which counts a
/// thread as Linux does; where that cannot be, nothing changes.
void be_nicer(int levels);

/// Threads that wait for work: the caller of `run` and `threads() - 1` of its own, and the
/// instruction set that kernels use on them. Results never depend on either.
class Team {
 public:
  /// `threads` 0 counts as 1; its own threads are `nicer` by so many levels than the caller.
  ///   Throws  DeviceError: the system gives no thread
  explicit Team(std::size_t threads = usable_cores(), Isa isa = best_isa(), int nicer = 0);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t threads() const { return workers_.size() + 1; }
  Isa isa() const { return isa_; }

  /// work(0) ... work(parts - 1), each once, in any order, on all threads; returns when all are
  /// done. One thread, or one part, runs inline. A second caller waits until the first is served;
  /// a part may not call `run` of its own team.
  ///   Throws  what the first failing part threw, after the parts under way; the rest is left out
  void run(std::size_t parts, const std::function<void(std::size_t part)>& work);

 private:
  void serve(int nicer);
  void take_parts();
  void stop();

  const Isa isa_;
  std::mutex callers_;  ///< held by the caller that is served

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::uint64_t round_ = 0;  ///< counts calls, so that a worker serves each once
  std::size_t busy_ = 0;     ///< workers that have not finished this round
  bool stopping_ = false;
  std::exception_ptr error_;

  std::size_t parts_ = 0;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::size_t> next_{0};
  std::vector<std::thread> workers_;
};

}  // namespace spillway::hw_backend
