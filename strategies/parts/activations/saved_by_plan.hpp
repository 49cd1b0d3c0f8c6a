#pragma once

#include "strategies/parts/activations/saved_and_moved.hpp"

namespace spillway::strategies {

/// Saved tensors whose fates a planner or a list of operators has given them, for a GPU that has no
/// room for all of them at once: passes wait for room that those make which leave. What comes back
/// is sent for as far as there is room; where a layer's do not find it all at once its backward
/// goes part by part, each giving back what it used last.
///   Source  LoHan; FlashNeuron (FAST'21); Capuchin (ASPLOS'20); torchtune, OffloadActivations,
///           which waits where five tensors are on their way
class SavedByPlan : public SavedAndMoved {
 public:
  using SavedAndMoved::SavedAndMoved;

  bool waits() const override { return true; }
  Task<bool> one_leaves() override { return swap().one_leaves(); }
  void prefetch(std::uint32_t layer, std::uint64_t leave) override;
  void return_early(std::uint32_t layer) override;
  Task<std::vector<Op>> before_backward(BackwardTurn turn) override;
  Task<IssuedPass> backward(BackwardTurn turn, std::vector<Op> after) override;

 private:
  bool returns_for(std::uint32_t layer, const PassPlan::Segment& segment) const;
  void call_back_for(std::uint32_t layer, const PassPlan::Segment& segment);
  void give_up(const PassPlan::Segment& segment);
  std::uint64_t kept_for_passes(std::uint32_t layer) const;
  Task<IssuedPass> as_it_returns(BackwardTurn turn);
};

}  // namespace spillway::strategies
