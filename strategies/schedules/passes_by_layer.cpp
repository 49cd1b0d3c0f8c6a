#include "strategies/schedules/passes_by_layer.hpp"

namespace spillway::strategies {

PassesByLayer::PassesByLayer(StreamingRank& parts)
    : parts_(parts),
      fetches_(parts.machine, parts.job, parts.weights),
      passes_(parts.machine, parts.rank, meetings_of(parts), !fetches_.overlap()),
      room_(parts.machine, parts.rank, parts.job, fetches_, parts.activations, *parts.saved,
            parts.gradients) {}

/// What follows is about this micro-batch.
void PassesByLayer::go_to(std::uint64_t micro) {
  parts_.activations.use(micro);
  numbers_ = parts_.progress.numbers(micro);
}

PassTurn PassesByLayer::turn_of(std::uint32_t layer, const GatheredWeights& weights) const {
  PassTurn turn;
  turn.passes = &passes_;
  turn.layer = layer;
  turn.before = room_.pass_before();
  turn.at.weights = &weights;
  turn.at.saved = &parts_.activations.saved(layer);
  turn.at.transient = parts_.activations.transient();
  turn.at.scratch = parts_.activations.scratch();
  turn.at.logits = parts_.activations.logits(layer);
  turn.at.hidden = &parts_.activations.hidden();
  turn.at.numbers = numbers_;
  return turn;
}

/// The layer's weights go with its last micro-batch.
void PassesByLayer::follow(std::uint64_t micro, IssuedPass issued, GatheredWeights& weights) {
  const bool last = micro + 1 == micro_batches();
  room_.follow(std::move(issued.last), std::move(issued.segments),
               last ? std::move(weights) : GatheredWeights());
}

/// Sends for what the layer's next pass of the micro-batch needs.
void PassesByLayer::call_back(std::uint64_t micro, std::uint32_t layer) {
  parts_.activations.use(micro);
  parts_.saved->prefetch(layer, 0);
}

Task<> PassesByLayer::forward() {
  fetches_.begin_pass(false);
  room_.begin_pass();
  for (std::uint32_t layer = 0; layer < fetches_.layers(); ++layer) {
    co_await room_.for_weights(layer);
    GatheredWeights weights = co_await fetches_.arrive(layer);
    if (is_last(layer)) {
      parts_.weights.keep(layer, std::move(weights));
      break;
    }
    for (std::uint64_t micro = 0; micro < micro_batches(); ++micro) {
      go_to(micro);
      co_await run_forward(layer, weights);
      if (micro == 0) fetches_.prefetch_behind(layer);
      if (micro + 1 == micro_batches()) room_.follow(room_.pass_before(), {}, std::move(weights));
    }
  }
  co_await room_.pass_ends();
}

/// Of the micro-batch.
Task<> PassesByLayer::run_forward(std::uint32_t layer, const GatheredWeights& weights) {
  co_await room_.for_forward(layer);
  parts_.activations.before_forward(layer);
  PassTurn turn = turn_of(layer, weights);
  IssuedPass issued = co_await parts_.saved->forward(std::move(turn));
  parts_.activations.after_forward(layer, issued);
  co_await room_.pass_ends();
  room_.follow(std::move(issued.last), {}, GatheredWeights());
}

Task<> PassesByLayer::backward() {
  fetches_.begin_pass(true);
  room_.begin_pass();
  for (std::uint32_t number = 0; number < fetches_.turns(); ++number) {
    const std::uint32_t layer = fetches_.layer_at(number);
    if (fetches_.runs_again(number))
      co_await run_again(layer, number);
    else
      co_await run_backward(layer, number);
  }
  co_await room_.pass_ends();
  co_await parts_.gradients.drain();
  for (std::uint64_t micro = 0; micro < micro_batches(); ++micro) {
    go_to(micro);
    co_await parts_.activations.end_micro_batch();
    parts_.job.steps->micro_batch_ended();
  }
}

Task<> PassesByLayer::run_again(std::uint32_t layer, std::uint32_t number) {
  co_await room_.for_weights(layer);
  GatheredWeights weights = co_await fetches_.arrive(layer);
  for (std::uint64_t micro = 0; micro < micro_batches(); ++micro) {
    go_to(micro);
    co_await room_.for_forward(layer);
    std::vector<Op> after = co_await parts_.saved->before_again(layer);
    parts_.activations.before_again(layer);
    const PassTurn turn = turn_of(layer, weights);
    IssuedPass issued =
        passes_.issue(parts_.job.plans.layers[layer].again, turn.at, std::move(after));
    co_await room_.pass_ends();
    if (micro == 0) fetches_.prefetch_behind(number);
    follow(micro, {issued.first, issued.last, {}}, weights);
  }
}

Task<> PassesByLayer::run_backward(std::uint32_t layer, std::uint32_t number) {
  constexpr MicroBatch only{true, true};  // to who takes their sum
  co_await room_.for_weights(layer);
  GatheredWeights weights = co_await fetches_.arrive(layer);
  co_await room_.for_gradients(layer);
  LayerGradients gradients = co_await parts_.gradients.begin_layer(layer, only);
  Op last;
  for (std::uint64_t micro = 0; micro < micro_batches(); ++micro) {
    go_to(micro);
    if (is_last(layer)) co_await run_forward(layer, weights);
    IssuedPass issued = co_await back(layer, weights, gradients);
    if (micro + 1 == micro_batches())
      issued.last = parts_.gradients.through_bucket(layer, gradients, std::move(issued.last), only);
    last = issued.last;
    gradients.fresh.assign(gradients.fresh.size(), false);
    co_await room_.pass_ends();
    if (micro == 0) fetches_.prefetch_behind(number);
    if (micro + 1 < micro_batches())
      call_back(micro + 1, layer);
    else if (number + 1 < fetches_.turns())
      call_back(0, fetches_.layer_at(number + 1));
    follow(micro, std::move(issued), weights);
  }
  co_await parts_.gradients.leave(layer, std::move(gradients), last, only);
}

Task<IssuedPass> PassesByLayer::back(std::uint32_t layer, const GatheredWeights& weights,
                                     LayerGradients& gradients) {
  BackwardTurn turn;
  turn.whole = co_await room_.for_backward(layer);
  parts_.activations.before_backward(layer);
  static_cast<PassTurn&>(turn) = turn_of(layer, weights);
  turn.at.gradients = &gradients.views;
  turn.at.fresh = &gradients.fresh;
  turn.at.arrivals = &parts_.activations.saved_arrivals(layer);
  std::vector<Op> after = co_await parts_.saved->before_backward(turn);
  IssuedPass issued = co_await parts_.saved->backward(turn, std::move(after));
  parts_.activations.after_backward(layer);
  co_return issued;
}

}  // namespace spillway::strategies
