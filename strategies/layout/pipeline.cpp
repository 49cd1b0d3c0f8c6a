#include "strategies/layout/pipeline.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace spillway::strategies {

namespace {

using description::PipelineSchedule;
using What = StageAction::What;

class Order {
 public:
  Order(std::uint64_t stage, std::uint64_t stages)
      : first_(stage == 0), last_(stage + 1 == stages) {}

  void pass(What what, std::uint64_t micro) { actions_.push_back({what, micro}); }
  /// To and from the next stage (forward) or the one before (backward); -1: none.
  void next(std::int64_t sends, std::int64_t receives) {
    if (last_ || (sends < 0 && receives < 0)) return;
    StageAction action{What::exchange};
    action.sends_forward = sends;
    action.receives_backward = receives;
    actions_.push_back(action);
  }
  void previous(std::int64_t sends, std::int64_t receives) {
    if (first_ || (sends < 0 && receives < 0)) return;
    StageAction action{What::exchange};
    action.sends_backward = sends;
    action.receives_forward = receives;
    actions_.push_back(action);
  }
  std::vector<StageAction> actions_;

 private:
  bool first_, last_;
};

/// Passes that wait for what they hand over.
std::vector<StageAction> waiting_order(const StagePlace& at) {
  Order order(at.stage, at.stages);
  const std::uint64_t ahead = forwards_ahead(at);
  for (std::uint64_t i = 0; i < ahead; ++i) {
    order.previous(-1, static_cast<std::int64_t>(i));
    order.pass(What::forward, i);
    order.next(static_cast<std::int64_t>(i), -1);
  }
  if (ahead < at.micro_batches) order.previous(-1, static_cast<std::int64_t>(ahead));
  for (std::uint64_t i = ahead; i < at.micro_batches; ++i) {
    const auto forward = static_cast<std::int64_t>(i);
    const std::int64_t backward = forward - static_cast<std::int64_t>(ahead);
    order.pass(What::forward, i);
    order.next(forward, backward);
    order.pass(What::backward, i - ahead);
    order.previous(backward, i + 1 < at.micro_batches ? forward + 1 : -1);
  }
  for (std::uint64_t i = at.micro_batches - ahead; i < at.micro_batches; ++i) {
    order.next(-1, static_cast<std::int64_t>(i));
    order.pass(What::backward, i);
    order.previous(static_cast<std::int64_t>(i), -1);
  }
  return std::move(order.actions_);
}

// ---- Passes beside which others are handed over

/// The `number`-th forward, or backward, of a stage.
StageAction interleaved_pass(const StagePlace& at, What what, std::uint64_t number) {
  const std::uint64_t group = number / (at.stages * at.pieces);
  const std::uint64_t inside = number % (at.stages * at.pieces);
  StageAction pass{what, group * at.stages + inside % at.stages};
  pass.piece = inside / at.stages;
  if (what == What::backward) pass.piece = at.pieces - 1 - pass.piece;
  return pass;
}

std::vector<StageAction> interleaved_passes(const StagePlace& at) {
  ENSURE(at.micro_batches % at.stages == 0, "stages that do not divide the micro-batches");
  const std::uint64_t all = at.micro_batches * at.pieces, ahead = forwards_ahead(at);
  std::vector<StageAction> passes;
  for (std::uint64_t i = 0; i < all + ahead; ++i) {
    if (i < all) passes.push_back(interleaved_pass(at, What::forward, i));
    if (i >= ahead) passes.push_back(interleaved_pass(at, What::backward, i - ahead));
  }
  return passes;
}

/// The gradients of weights `stage` micro-batches behind, and the rest where nothing else is left.
std::vector<StageAction> split_passes(const StagePlace& at) {
  const std::uint64_t ahead = forwards_ahead(at);
  std::vector<StageAction> passes;
  for (std::uint64_t i = 0; i < ahead; ++i) passes.push_back({What::forward, i});
  for (std::uint64_t i = 0; i < at.micro_batches; ++i) {
    if (i + ahead < at.micro_batches) passes.push_back({What::forward, i + ahead});
    passes.push_back({What::backward, i});
    if (i >= at.stage) passes.push_back({What::weights, i - at.stage});
  }
  const std::uint64_t done = at.micro_batches - std::min(at.stage, at.micro_batches);
  for (std::uint64_t i = done; i < at.micro_batches; ++i) passes.push_back({What::weights, i});
  return passes;
}

/// It begins with what another stage has.
bool comes_in(const StagePlace& at, const StageAction& pass) {
  if (pass.what == What::weights) return false;
  if (pass.what == What::forward) return at.stage > 0 || pass.piece > 0;
  return at.stage + 1 < at.stages || pass.piece + 1 < at.pieces;
}

/// It ends with what another stage needs.
bool goes_out(const StagePlace& at, const StageAction& pass) {
  if (pass.what == What::weights) return false;
  if (pass.what == What::backward) return at.stage > 0 || pass.piece > 0;
  return at.stage + 1 < at.stages || pass.piece + 1 < at.pieces;
}

StageAction beside(What what, const StageAction& pass) {
  StageAction action{what, pass.micro};
  action.piece = pass.piece;
  action.back = pass.what == What::backward;
  return action;
}

/// Each input is offered a pass ahead of its own, and each output sent behind its pass.
std::vector<StageAction> handed_over_beside(const StagePlace& at,
                                            const std::vector<StageAction>& passes) {
  std::vector<StageAction> actions;
  std::size_t offered = 0;  // passes whose input has been offered, or that have none
  for (std::size_t i = 0; i < passes.size(); ++i) {
    std::size_t next = i + 1;
    while (next < passes.size() && passes[next].what == What::weights) ++next;
    for (; offered < passes.size() && offered <= next; ++offered)
      if (comes_in(at, passes[offered])) actions.push_back(beside(What::offer, passes[offered]));
    if (comes_in(at, passes[i])) actions.push_back(beside(What::arrival, passes[i]));
    actions.push_back(passes[i]);
    if (goes_out(at, passes[i])) actions.push_back(beside(What::send, passes[i]));
  }
  return actions;
}

bool splits(const StagePlace& at) {
  return at.schedule == PipelineSchedule::zero_bubble && at.stages > 1;
}

}  // namespace

std::uint64_t forwards_ahead(const StagePlace& at) {
  const std::uint64_t behind = at.stages - 1 - at.stage;
  if (at.pieces > 1)
    return std::min(2 * behind + (at.pieces - 1) * at.stages, at.micro_batches * at.pieces);
  if (at.schedule == PipelineSchedule::sequential) return 0;
  if (at.schedule == PipelineSchedule::gpipe && at.stages > 1) return at.micro_batches;
  return std::min(behind, at.micro_batches);
}

std::uint64_t micro_batches_under_way(const StagePlace& at) {
  if (at.pieces == 1 && !splits(at)) return std::min(forwards_ahead(at) + 1, at.micro_batches);
  const What last = splits(at) ? What::weights : What::backward;
  std::uint64_t most = 0, done = 0;
  std::set<std::uint64_t> begun;
  for (const StageAction& action : stage_order(at)) {
    begun.insert(action.micro);
    most = std::max(most, *begun.rbegin() + 1 - done);
    if (action.what == last && action.piece == 0) done = action.micro + 1;
  }
  return most;
}

std::vector<StageAction> stage_order(const StagePlace& at) {
  if (at.pieces > 1) return handed_over_beside(at, interleaved_passes(at));
  if (splits(at)) return handed_over_beside(at, split_passes(at));
  return waiting_order(at);
}

}  // namespace spillway::strategies
