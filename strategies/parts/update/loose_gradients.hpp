#pragma once

#include "strategies/parts/update/gradients_to_host.hpp"

namespace spillway::strategies {

/// Sums of gradients in the flat buffer that somebody else takes when it suits him: what comes next
/// begins a new sum (staleness async; see UpdateLoop).
///   Source  Angel-PTM (VLDB'23), lock-free update
class LooseGradients final : public GradientsToHost {
 public:
  LooseGradients(Machine& machine, Rank rank, const Job& job, CpuOptimizer& optimizer)
      : GradientsToHost(machine, rank, job, optimizer),
        sums_(job.model.weights.size()),
        news_(machine.scheduler()) {}

  /// Set when a gradient has come; reset it before waiting.
  Event& news() { return news_; }
  bool has_news(std::uint32_t weight) const {
    return sums_[weight].gradients > sums_[weight].taken_gradients;
  }
  /// After it the sum is complete.
  const Op& arrived(std::uint32_t weight) const { return sums_[weight].arrived; }
  /// The sum is not needed any more when `taken` is done.
  ///   Result  gradients of the run in it and in those before it
  std::uint64_t taken(std::uint32_t weight, const Op& taken);

 private:
  struct Sum {
    bool empty = true;
    std::uint64_t gradients = 0, taken_gradients = 0;
    Op arrived, taken;
  };
  bool passes_landing() const override { return true; }
  Task<Down> bring(const GradientShare& share, MicroBatch micro) override;

  std::vector<Sum> sums_;  ///< by weight
  Event news_;
};

}  // namespace spillway::strategies
