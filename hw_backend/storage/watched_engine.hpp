#pragma once

#include "hw_backend/storage/decorator.hpp"

#include <chrono>
#include <map>

namespace spillway::hw_backend {

/// Ends transfers that make no progress: when no request has ended for `watchdog_s` while transfers
/// are in flight, all of them fail, with a DeviceError that names target, offset and how long.
///   Memory   the kernel is made to let go of it first; where it does not, the error says so, and
///            `cancel_all` returns false from then on
class WatchedEngine final : public Decorator {
 public:
  WatchedEngine(std::unique_ptr<IoEngine> inner, double watchdog_s);

  void submit(const Transfer& transfer) override;
  std::vector<Completion> wait(std::optional<double> timeout_s) override;
  [[nodiscard]] bool cancel_all() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<Completion> give_up();

  double watchdog_s_;
  std::map<std::uint64_t, Transfer> transfers_;  ///< in flight, by the tag they have inside
  std::uint64_t next_tag_ = 1;
  std::uint64_t requests_seen_ = 0;
  Clock::time_point progress_;
  bool kernel_holds_memory_ = false;
};

}  // namespace spillway::hw_backend
