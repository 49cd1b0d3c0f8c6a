#include "hw_backend/cuda/device_clock.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "hw_backend/cuda/cuda_error.hpp"
#include "hw_backend/device/device.hpp"

namespace spillway::hw_backend {

namespace {

constexpr int looks = 4;  // of which the shortest counts: a thread may lose its core in between

}  // namespace

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "cudaEventCreateWithFlags");
}

DeviceClock::DeviceClock() : anchor_(best_look()), error_s_(anchor_.half_s) {}

DeviceClock::Anchor DeviceClock::best_look() const {
  Anchor best = look();
  for (int i = 1; i < looks; ++i)
    if (Anchor other = look(); other.half_s < best.half_s) best = std::move(other);
  return best;
}

DeviceClock::Anchor DeviceClock::look() const {
  Anchor anchor{std::make_unique<Event>()};
  const double before_s = host_now_s();
  check(cudaEventRecord(anchor.event->get(), stream_.get()), "cudaEventRecord");
  cudaError_t state = cudaErrorNotReady;
  while (state == cudaErrorNotReady) {
    std::this_thread::yield();
    state = cudaEventQuery(anchor.event->get());
  }
  check(state, "cudaEventQuery");
  const double after_s = host_now_s();
  anchor.host_s = (before_s + after_s) / 2;
  anchor.half_s = (after_s - before_s) / 2;
  return anchor;
}

void DeviceClock::renew() {
  Anchor best = best_look();
  const double missed_s = std::abs(by_anchor(best.event->get()) - best.host_s);
  error_s_ = std::max(error_s_, anchor_.half_s + missed_s);
  anchor_ = std::move(best);
}

double DeviceClock::by_anchor(cudaEvent_t event) const {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, anchor_.event->get(), event), "cudaEventElapsedTime");
  return anchor_.host_s + 1e-3 * static_cast<double>(ms);
}

std::vector<double> DeviceClock::host_s(const std::vector<std::shared_ptr<Event>>& events) {
  const std::lock_guard lock(mutex_);
  if (host_now_s() - anchor_.host_s > anchor_s) renew();
  std::vector<double> times;
  for (const std::shared_ptr<Event>& event : events) times.push_back(by_anchor(event->get()));
  return times;
}

double DeviceClock::error_s() const {
  const std::lock_guard lock(mutex_);
  return error_s_;
}

}  // namespace spillway::hw_backend
