#pragma once

#include "strategies/parts/weights/weights_on_gpu.hpp"

#include <deque>
#include <functional>

namespace spillway::strategies {

/// One rank's GPU optimizer that repeats recorded delays (see UpdateLoop), weight by weight: a sum
/// of gradients ends where the recorded one did and is updated at once, and kernels see the new
/// weight from the fetch on that saw the recorded one.
class Replay {
 public:
  /// Updates a weight: its gradient is summed when `after` is done.
  ///   into  its new values, of which the old ones are there
  using Update =
      std::function<Op(std::uint32_t weight, std::uint64_t number, View into, const After& after)>;
  Replay(Machine& machine, Rank rank, const Job& job, const WeightsOnGpu& weights,
         const Delays& delays);
  void set_update(Update update) { update_ = std::move(update); }

  /// The next gradient of `weight` is the first of a sum.
  bool begins(std::uint32_t weight) const { return sums_[weight].begins; }
  /// What still reads the sum that it is added to.
  const Op& reader(std::uint32_t weight) const { return sums_[weight].updated; }
  /// A gradient is added when `summed` is done.
  void arrived(std::uint32_t weight, const Op& summed);
  /// A layer fetches the weight.  Result  its values are there; empty: they are already
  Op fetched(std::uint32_t weight);
  /// All that was updated, for a checkpoint.
  Task<> show_all();

 private:
  struct Sum {
    bool begins = true;
    std::uint64_t gradients = 0;  ///< that came
    std::uint64_t updates = 0;
    std::uint64_t shown = 0;  ///< of the updates, those that kernels see
    std::size_t fetches = 0;
    std::deque<Buffer> waiting;  ///< new values that kernels do not see yet, oldest first
    Op updated;
  };
  View newest(std::uint32_t weight) const;
  Op copy(std::uint32_t weight, View into, View from, const Op& after);
  Op show(std::uint32_t weight, std::uint64_t updates);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const WeightsOnGpu& weights_;
  const Delays& delays_;
  Update update_;
  std::vector<Sum> sums_;  ///< by weight
};

/// Weights on the GPU that are, when a layer fetches them, what the recorded fetch saw.
class ReplayedWeights final : public WeightsOnGpu {
 public:
  ReplayedWeights(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout,
                  const Delays& delays)
      : WeightsOnGpu(machine, rank, job, layout), replay_(machine, rank, job, *this, delays) {}
  Replay& replay() { return replay_; }

 private:
  Op values(std::uint32_t weight) override { return replay_.fetched(weight); }

  Replay replay_;
};

}  // namespace spillway::strategies
