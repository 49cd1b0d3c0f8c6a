#include "strategies/layout/pipeline.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

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

}  // namespace

std::uint64_t forwards_ahead(description::PipelineSchedule schedule, std::uint64_t stage,
                             std::uint64_t stages, std::uint64_t micro_batches) {
  if (schedule == description::PipelineSchedule::gpipe && stages > 1) return micro_batches;
  return std::min(stages - 1 - stage, micro_batches);
}

std::vector<StageAction> stage_order(description::PipelineSchedule schedule, std::uint64_t stage,
                                     std::uint64_t stages, std::uint64_t micro_batches) {
  Order order(stage, stages);
  const std::uint64_t ahead = forwards_ahead(schedule, stage, stages, micro_batches);
  for (std::uint64_t i = 0; i < ahead; ++i) {
    order.previous(-1, static_cast<std::int64_t>(i));
    order.pass(What::forward, i);
    order.next(static_cast<std::int64_t>(i), -1);
  }
  if (ahead < micro_batches) order.previous(-1, static_cast<std::int64_t>(ahead));
  for (std::uint64_t i = ahead; i < micro_batches; ++i) {
    const auto forward = static_cast<std::int64_t>(i);
    const std::int64_t backward = forward - static_cast<std::int64_t>(ahead);
    order.pass(What::forward, i);
    order.next(forward, backward);
    order.pass(What::backward, i - ahead);
    order.previous(backward, i + 1 < micro_batches ? forward + 1 : -1);
  }
  for (std::uint64_t i = micro_batches - ahead; i < micro_batches; ++i) {
    order.next(-1, static_cast<std::int64_t>(i));
    order.pass(What::backward, i);
    order.previous(static_cast<std::int64_t>(i), -1);
  }
  return std::move(order.actions_);
}

}  // namespace spillway::strategies
