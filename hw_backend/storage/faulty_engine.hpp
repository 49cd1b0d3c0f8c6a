#pragma once

#include "hw_backend/storage/decorator.hpp"

#include <chrono>
#include <map>

namespace spillway::hw_backend {

/// How often each fault strikes, as a share of the transfers that it can strike; their sum is at
/// most 1.
struct FaultPlan {
  std::uint64_t seed = 0;
  double eio = 0;       ///< fails, and moves nothing
  double enospc = 0;    ///< a write fails, and moves nothing
  double partial = 0;   ///< moves in two parts, one after the other
  double slow = 0;      ///< ends late, by up to slow_s
  double torn = 0;      ///< a write ends well, and only its first half is there
  double stale = 0;     ///< a write ends well, and nothing of it is there
  double bit_flip = 0;  ///< one bit is not what was written, or not what is read
  double never = 0;     ///< does not end
  double slow_s = 0.02;
};

enum class Fault { none, eio, enospc, partial, slow, torn, stale, bit_flip, never };

/// What befalls the nth transfer of this kind: hashed from the seed, the target's short name, the
/// range, the direction and how often this same transfer came before, so that the order in which
/// transfers of different ranks come does not matter.
Fault draw_fault(const FaultPlan& plan, const Transfer& transfer, std::uint64_t times_before);

/// Faults on purpose, the same ones for the same seed. A fault that would be silent needs a
/// CheckedEngine around, one that never ends a WatchedEngine.
class FaultyEngine final : public Decorator {
 public:
  FaultyEngine(std::unique_ptr<IoEngine> inner, FaultPlan plan);
  ~FaultyEngine() override;

  void submit(const Transfer& transfer) override;
  std::vector<Completion> wait(std::optional<double> timeout_s) override;
  [[nodiscard]] bool cancel_all() noexcept override;
  std::size_t in_flight() const override;

  /// Faults that have struck, by kind.
  const std::map<Fault, std::uint64_t>& struck() const { return struck_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Struck;
  struct Late {
    Completion completion;
    Clock::time_point due;
  };

  void came_back(const Completion& completion);

  FaultPlan plan_;
  std::map<std::string, std::uint64_t> seen_;  ///< how often a transfer came, by what it is
  std::map<Fault, std::uint64_t> struck_;
  std::map<std::uint64_t, std::unique_ptr<Struck>> transfers_;  ///< by the tag they have inside
  std::vector<Completion> ended_;                               ///< without the device
  std::vector<Late> late_;
  std::uint64_t next_tag_ = 1;
};

}  // namespace spillway::hw_backend
