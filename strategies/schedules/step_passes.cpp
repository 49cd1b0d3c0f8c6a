#include "strategies/schedules/step_passes.hpp"

namespace spillway::strategies {

StepPasses::StepPasses(StreamingRank& parts)
    : parts_(parts), layers_(parts), phases_(parts.machine, parts.rank, parts.links.stages()) {}

void StepPasses::begin_step() {
  StagePlace at = parts_.links.place();
  at.micro_batches = parts_.job.steps->micro_batches();
  actions_ = stage_order(at);
  begun_ = false;
  phases_.begin_step();
}

const StageAction* StepPasses::pass_behind() const {
  for (std::size_t i = at_ + 1; i < actions_.size(); ++i)
    if (actions_[i].is_pass() && actions_[i].what != StageAction::What::weights)
      return &actions_[i];
  return nullptr;
}

bool StepPasses::next() {
  at_ = begun_ ? at_ + 1 : 0;
  begun_ = true;
  if (at_ == actions_.size()) return false;
  if (!action().is_pass()) return true;
  const StageLinks& links = parts_.links;
  const StageAction* const behind = pass_behind();
  const bool backward_next = behind && behind->what == StageAction::What::backward;
  backward_follows_ =
      backward_next && behind->micro == action().micro && behind->piece == action().piece;
  const bool others = backward_next && !backward_follows_;
  parts_.activations.use(links.record(action().micro, action().piece));
  parts_.saved->expect_backward(others ? std::optional(links.record(behind->micro, behind->piece))
                                       : std::nullopt);
  numbers_ = parts_.progress.numbers(action().micro);
  const bool forward = action().what == StageAction::What::forward;
  phases_.enter(forward ? result::Phase::forward : result::Phase::backward);
  if (forward) parts_.saved->begin_micro_batch(backward_follows_);
  return true;
}

bool StepPasses::completes_gradients() const {
  return is_backward() && action().micro + 1 == parts_.job.steps->micro_batches();
}

Task<> StepPasses::run() {
  using What = StageAction::What;
  StageLinks& links = parts_.links;
  switch (action().what) {
    case What::forward:
      co_await layers_.forward(numbers_, action().piece, backward_follows_);
      break;
    case What::backward:
      co_await back();
      break;
    case What::weights:
      co_await weights();
      break;
    case What::exchange:
      co_await links.exchange(action());
      break;
    case What::offer:
      links.offer(action());
      break;
    case What::arrival:
      co_await links.arrival(action());
      break;
    case What::send:
      links.send(action());
      break;
  }
  if (at_ + 1 == actions_.size()) co_await links.all_sent();
}

bool StepPasses::splits() const { return parts_.job.scenario.parallel.splits_backward(); }

MicroBatch StepPasses::micro_batch(Made made) const {
  return {action().micro == 0, action().micro + 1 == parts_.job.steps->micro_batches(), made};
}

Task<> StepPasses::back() {
  co_await layers_.backward(numbers_, action().piece,
                            micro_batch(splits() ? Made::early : Made::all));
  if (!splits()) co_await end_micro_batch();
}

Task<> StepPasses::weights() {
  co_await layers_.weight_gradients(numbers_, action().piece, micro_batch(Made::late));
  co_await end_micro_batch();
}

Task<> StepPasses::end_micro_batch() {
  co_await parts_.activations.end_micro_batch();
  if (action().piece == 0) parts_.job.steps->micro_batch_ended();
}

}  // namespace spillway::strategies
