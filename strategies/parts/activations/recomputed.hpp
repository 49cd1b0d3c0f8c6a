#pragma once

#include "strategies/parts/activations/saved_tensors.hpp"

namespace spillway::strategies {

/// Saved tensors of which layers make some again (LayerPlan::recompute), in a pass of its own
/// before their backward; they live in these two passes only. `Others` has those that are not made
/// again.
///   Source  "Training Deep Nets with Sublinear Memory Cost" (arXiv 1604.06174)
template <class Others>
class Recomputed final : public Others {
 public:
  using Others::Others;

  bool recomputes(std::uint32_t layer) const override {
    return !this->plan(layer).recompute.segments.empty();
  }
  Task<std::vector<Op>> before_backward(BackwardTurn turn) override {
    std::vector<Op> after = co_await Others::before_backward(turn);
    if (!recomputes(turn.layer)) co_return after;
    const IssuedPass again =
        turn.passes->issue(this->plan(turn.layer).recompute, turn.at, std::move(after));
    co_return std::vector<Op>(1, again.last);
  }
};

}  // namespace spillway::strategies
