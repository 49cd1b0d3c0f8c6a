#include "hw_backend/storage/watched_engine.hpp"

#include "scenarios/description/errors.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>

namespace spillway::hw_backend {

WatchedEngine::WatchedEngine(std::unique_ptr<IoEngine> inner, double watchdog_s)
    : Decorator(std::move(inner)), watchdog_s_(watchdog_s) {}

void WatchedEngine::submit(const Transfer& transfer) {
  check_transfer(transfer);
  if (transfers_.all().empty()) waited_s_ = 0;
  inner_->submit(transfers_.add(transfer));
}

std::vector<Completion> WatchedEngine::wait(std::optional<double> timeout_s) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  for (double passed_s = 0;;) {
    std::optional<double> rest;
    if (timeout_s) rest = std::max(0.0, *timeout_s - passed_s);
    if (!transfers_.all().empty()) {
      const double patience_s = std::max(0.0, watchdog_s_ - waited_s_);
      rest = rest ? std::min(*rest, patience_s) : patience_s;
    }
    std::vector<Completion> ended = inner_->wait(rest);
    const double before_s = passed_s;
    passed_s = std::chrono::duration<double>(Clock::now() - begun).count();
    waited_s_ += passed_s - before_s;
    const std::uint64_t requests = inner_->counters().requests;
    if (!ended.empty() || requests != requests_seen_) waited_s_ = 0;
    requests_seen_ = requests;
    for (Completion& completion : ended) completion.tag = transfers_.take(completion.tag).tag;
    if (!ended.empty()) return ended;
    if (!transfers_.all().empty() && waited_s_ >= watchdog_s_) return give_up();
    const bool woken = !rest || passed_s - before_s < *rest;
    if (woken || (timeout_s && passed_s >= *timeout_s)) return {};
  }
}

std::vector<Completion> WatchedEngine::give_up() {
  kernel_holds_memory_ = !inner_->cancel_all() || kernel_holds_memory_;
  std::vector<Completion> out;
  for (const auto& [tag, transfer] : transfers_.all()) {
    out.push_back({transfer.tag, std::make_exception_ptr(description::DeviceError(fmt::format(
                                     "{}: no answer for {:g} s{}; look at dmesg for its device",
                                     to_string(transfer), watchdog_s_,
                                     kernel_holds_memory_ ? ", and no cancelling it" : "")))});
  }
  transfers_.clear();
  waited_s_ = 0;
  return out;
}

bool WatchedEngine::cancel_all() noexcept {
  transfers_.clear();
  return inner_->cancel_all() && !kernel_holds_memory_;
}

}  // namespace spillway::hw_backend
