#include "strategies/parts/activations/saved_by_plan.hpp"

#include <algorithm>

namespace spillway::strategies {

void SavedByPlan::prefetch(std::uint32_t layer, std::uint64_t leave) {
  while (!returns_all(layer)) {
    std::optional<Buffer> into = memory_.try_allocate(next_back(layer).bytes, leave);
    if (!into) return;
    send_for_next(layer, std::move(*into));
  }
}

/// What the passes below `layer` take before their own tensors.
std::uint64_t SavedByPlan::kept_for_passes(std::uint32_t layer) const {
  std::uint64_t most = 0;
  for (std::uint32_t below = 0; below < layer; ++below) {
    const TemporaryBytes temporaries = temporary_bytes(plan(below), true);
    std::uint64_t bytes = machine_.gpu_charge(temporaries.transient) +
                          machine_.gpu_charge(temporaries.scratch) +
                          machine_.gpu_charge(plan(below).gradient_bytes);
    for (const LayerWeight& slot : plan(below).weights) {
      const TensorRow& row = job_.row(slot.weight);
      const bool stays = row.whole && row.home == description::Home::gpu;
      if (!stays) bytes += machine_.gpu_charge(slot.share_bytes * row.shards.weight_ways());
    }
    for (const std::uint32_t i : plan(below).produced_backward)
      bytes += machine_.gpu_charge(job_.plans.hidden[i].bytes);
    most = std::max(most, bytes);
  }
  return most;
}

void SavedByPlan::return_early(std::uint32_t layer) {
  if (!job_.activations.returns_early || layer == 0) return;
  const std::uint64_t leave = kept_for_passes(layer);
  for (std::uint32_t below = layer; below-- > 0;) {
    prefetch(below, leave);
    if (!returns_all(below)) return;
  }
}

Task<std::vector<Op>> SavedByPlan::before_backward(BackwardTurn turn) {
  if (!turn.whole) co_return std::vector<Op>();
  co_return co_await arrivals(turn.layer, 0);
}

Task<IssuedPass> SavedByPlan::backward(BackwardTurn turn, std::vector<Op> after) {
  if (!turn.whole) return as_it_returns(std::move(turn));
  return SavedAndMoved::backward(std::move(turn), std::move(after));
}

/// All was sent for that this part of the layer's backward needs, and those before it.
bool SavedByPlan::returns_for(std::uint32_t layer, const PassPlan::Segment& segment) const {
  const std::vector<std::uint32_t>& returns = plan(layer).returns;
  const auto open = returns.begin() + static_cast<std::ptrdiff_t>(returned(layer));
  return std::none_of(segment.needs.begin(), segment.needs.end(), [&](std::uint32_t moved) {
    return std::find(open, returns.end(), moved) != returns.end();
  });
}

/// Sends for all of that.  Throws  OutOfMemory
void SavedByPlan::call_back_for(std::uint32_t layer, const PassPlan::Segment& segment) {
  while (!returns_for(layer, segment))
    send_for_next(layer, memory_.allocate(next_back(layer).bytes));
}

/// The part was issued: what came back and no later one uses.
void SavedByPlan::give_up(const PassPlan::Segment& segment) {
  for (const std::uint32_t i : segment.releases)
    if (!job_.plans.moved[i].hidden) memory_.of(job_.plans.moved[i]).reset();
}

/// Part by part, each when what it needs is on its way, as far as those before it give back their
/// memory.
Task<IssuedPass> SavedByPlan::as_it_returns(BackwardTurn turn) {
  const PassPlan& pass = plan(turn.layer).backward;
  PassIssuer segments = turn.passes->begin(pass, turn.at, {});
  std::vector<Op> running;
  std::size_t ended = 0, arrived = 0;
  for (const PassPlan::Segment& segment : pass.segments) {
    prefetch(turn.layer, turn.leave);
    while (!returns_for(turn.layer, segment) && ended < running.size()) {
      co_await running[ended++];
      prefetch(turn.layer, turn.leave);
    }
    if (!returns_for(turn.layer, segment)) call_back_for(turn.layer, segment);
    std::vector<Op> hidden = co_await arrivals(turn.layer, arrived);
    arrived = returned(turn.layer);
    for (const Op& there : hidden) co_await there;
    running.push_back(segments.next());
    give_up(segment);
  }
  co_return segments.finish();
}

}  // namespace spillway::strategies
