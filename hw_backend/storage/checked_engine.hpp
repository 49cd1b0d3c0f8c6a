#pragma once

#include "hw_backend/storage/decorator.hpp"
#include "hw_backend/storage/sector_table.hpp"

namespace spillway::hw_backend {

/// Keeps generation and hash of every sector written, and checks what is read against them.
///   Throws  (in the completion of a read) DeviceError naming the target, the sector's offset, the
///           generation expected and what was found: lost, stale, torn or changed
class CheckedEngine final : public Decorator {
 public:
  using Decorator::Decorator;

  void submit(const Transfer& transfer) override;
  std::vector<Completion> wait(std::optional<double> timeout_s) override;
  [[nodiscard]] bool cancel_all() noexcept override;
  /// Forgets the target's sectors too.
  void detach(Target& target) override;

  void forget(const Target& target, std::uint64_t offset, std::uint64_t bytes) override;
  IoCounters counters() const override;

 private:
  std::map<const Target*, SectorTable> tables_;
  PassedOn transfers_;
  std::uint64_t bytes_checked_ = 0;
};

}  // namespace spillway::hw_backend
