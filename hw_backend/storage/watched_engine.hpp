#pragma once

#include "hw_backend/storage/decorator.hpp"

namespace spillway::hw_backend {

/// Ends transfers that make no progress: when `wait` has waited `watchdog_s` and no request has
/// ended, all of them fail, with a DeviceError that names target and offset.
///   Memory   the kernel is made to let go of it first; where it does not, the error says so, and
///            `cancel_all` returns false from then on
class WatchedEngine final : public Decorator {
 public:
  WatchedEngine(std::unique_ptr<IoEngine> inner, double watchdog_s);

  void submit(const Transfer& transfer) override;
  std::vector<Completion> wait(std::optional<double> timeout_s) override;
  [[nodiscard]] bool cancel_all() noexcept override;
  std::size_t in_flight() const override { return transfers_.all().size(); }

 private:
  std::vector<Completion> give_up();

  double watchdog_s_;
  PassedOn transfers_;
  std::uint64_t requests_seen_ = 0;
  double waited_s_ = 0;  ///< since a request ended; time outside of `wait` does not count
  bool kernel_holds_memory_ = false;
};

}  // namespace spillway::hw_backend
