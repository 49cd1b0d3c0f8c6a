#include "hw_backend/cpu/team.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

std::size_t usable_cores() {
  // The kernel refuses a mask shorter than its own, so it grows until it fits.
  for (std::size_t cores = 1024; cores <= (std::size_t(1) << 20); cores *= 2) {
    cpu_set_t* const mask = CPU_ALLOC(cores);
    if (mask == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cores);
    const bool known = sched_getaffinity(0, bytes, mask) == 0;
    const int count = known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (count > 0) return static_cast<std::size_t>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

void be_nicer(int levels) {
  if (levels <= 0) return;
  [[maybe_unused]] const int level = nice(levels);
}

Team::Team(std::size_t threads, Isa isa, int nicer) : isa_(isa) {
  try {
    while (workers_.size() + 1 < threads) workers_.emplace_back([=, this] { serve(nicer); });
  } catch (const std::system_error& error) {
    stop();
    throw description::DeviceError("thread " + std::to_string(workers_.size() + 2) + " of " +
                                   std::to_string(threads) + " cannot start: " + error.what() +
                                   "; raise the limit with `ulimit -u`");
  }
}

Team::~Team() { stop(); }

void Team::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::run(std::size_t parts, const std::function<void(std::size_t)>& work) {
  const std::lock_guard caller(callers_);
  if (workers_.empty() || parts <= 1) {
    for (std::size_t part = 0; part < parts; ++part) work(part);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    parts_ = parts;
    work_ = &work;
    next_ = 0;
    busy_ = workers_.size();
    ++round_;
  }
  wake_.notify_all();
  take_parts();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Team::serve(int nicer) {
  be_nicer(nicer);
  std::uint64_t served = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || round_ != served; });
    if (stopping_) return;
    served = round_;
    lock.unlock();
    take_parts();
    lock.lock();
    if (--busy_ == 0) idle_.notify_one();
  }
}

void Team::take_parts() {
  try {
    for (std::size_t part = next_++; part < parts_; part = next_++) (*work_)(part);
  } catch (...) {
    next_ = parts_;
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace spillway::hw_backend
