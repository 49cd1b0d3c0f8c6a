#pragma once

#include "strategies/parts/update/loose_gradients.hpp"
#include "strategies/parts/weights/renewed_weights.hpp"

#include <deque>

namespace spillway::strategies {

/// One rank's update that no step waits for: sub-groups in turn, as often as there is time.
///   Takes      the sums of gradients since it was here last, widened; what comes next begins anew.
///              A sub-group waits until each of its gradients has come once more
///   Updates    states from where they are, with pipeline_read read ahead of their turn, and back,
///              with pipeline_write beside the next sub-group
///   Publishes  16-bit weights in host memory, copied between two fetches of the weight: kernels of
///              one step may see a sub-group's before and another's after
///   Source     Angel-PTM (VLDB'23), lock-free update
class UpdateLoop {
 public:
  UpdateLoop(Machine& machine, Rank rank, const Job& job, RenewedWeights& weights,
             CpuOptimizer& optimizer, LooseGradients& gradients);

  /// Throws  OutOfMemory
  Task<> init();
  /// `numbers`: the scale of the gradients; the same in all steps.
  void start(const StepNumbers& numbers);
  /// Ends with the sub-group that it is at.
  Task<> stop();

 private:
  Task<> turn_by_turn();
  bool ready(std::uint32_t group) const;
  void fetch(std::uint32_t group);
  Task<StateStore::Loaded> load(std::uint32_t group);
  Task<> save(StateStore::Loaded loaded);
  Task<> update(StateStore::Loaded loaded);
  Op take(const Subgroup& group);
  View wide(const Subgroup::Member& member) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  RenewedWeights& weights_;
  CpuOptimizer& optimizer_;
  LooseGradients& gradients_;
  StateStore& states_;
  Delays& delays_;
  Buffer wide_;  ///< gradients of the sub-group under way, then its new weights
  StepNumbers numbers_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> member_of_;  ///< weight -> group, member
  std::vector<Pending<StateStore::Loaded>> fetches_;                ///< by sub-group
  std::deque<Event> saved_;  ///< by sub-group: its states are where they live
  std::deque<Pending<>> saving_;
  Pending<> loop_;
  bool stopping_ = false;
};

}  // namespace spillway::strategies
