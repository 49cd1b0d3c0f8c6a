#include "strategies/schedules/step_passes.hpp"

namespace spillway::strategies {

StepPasses::StepPasses(StreamingRank& parts)
    : parts_(parts), layers_(parts), phases_(parts.machine, parts.rank, parts.links.stages()) {}

void StepPasses::begin_step() {
  actions_ = stage_order(parts_.job.scenario.parallel.schedule, parts_.links.stage(),
                         parts_.links.stages(), parts_.job.steps->micro_batches());
  begun_ = false;
  phases_.begin_step();
}

const StageAction* StepPasses::pass_behind() const {
  for (std::size_t i = at_ + 1; i < actions_.size(); ++i)
    if (actions_[i].what != StageAction::What::exchange) return &actions_[i];
  return nullptr;
}

bool StepPasses::next() {
  at_ = begun_ ? at_ + 1 : 0;
  begun_ = true;
  if (at_ == actions_.size()) return false;
  if (action().what == StageAction::What::exchange) return true;
  const std::size_t records = parts_.links.records();
  const StageAction* const behind = pass_behind();
  const bool backward_next = behind && behind->what == StageAction::What::backward;
  backward_follows_ = backward_next && behind->micro == action().micro;
  parts_.activations.use(action().micro % records);
  parts_.saved->expect_backward(
      backward_next && !backward_follows_ ? std::optional(behind->micro % records) : std::nullopt);
  numbers_ = parts_.progress.numbers(action().micro);
  phases_.enter(is_backward() ? result::Phase::backward : result::Phase::forward);
  if (!is_backward()) parts_.saved->begin_micro_batch(backward_follows_);
  return true;
}

bool StepPasses::completes_gradients() const {
  return is_backward() && action().micro + 1 == parts_.job.steps->micro_batches();
}

Task<> StepPasses::run() {
  if (action().what == StageAction::What::exchange) {
    co_await parts_.links.exchange(action());
  } else if (is_backward()) {
    const MicroBatch micro{action().micro == 0, completes_gradients()};
    co_await layers_.backward(numbers_, micro);
    co_await parts_.activations.end_micro_batch();
    parts_.job.steps->micro_batch_ended();
  } else {
    co_await layers_.forward(numbers_, backward_follows_);
  }
}

}  // namespace spillway::strategies
