#include "strategies/schedules/layer_passes.hpp"

namespace spillway::strategies {

LayerPasses::LayerPasses(StreamingRank& parts)
    : job_(parts.job),
      activations_(parts.activations),
      saved_(*parts.saved),
      weights_(parts.weights),
      gradients_(parts.gradients),
      fetches_(parts.machine, job_, weights_),
      passes_(parts.machine, parts.rank, meetings_of(parts), !fetches_.overlap()),
      room_(parts.machine, parts.rank, job_, fetches_, activations_, saved_, gradients_) {}

// ---- The passes

Task<> LayerPasses::forward(StepNumbers numbers, std::uint64_t piece, bool backward_follows) {
  numbers_ = numbers;
  const models::Span layers = job_.plans.pieces[piece].layers;
  fetches_.begin_pass(false, layers, numbers.micro_batch);
  room_.begin_pass();
  for (std::uint32_t layer = layers.first; layer < layers.last; ++layer) {
    co_await room_.for_weights(layer);
    GatheredWeights weights = co_await fetches_.arrive(layer);
    co_await room_.for_forward(layer);
    activations_.before_forward(layer);
    PassTurn turn;
    take_turn(turn, layer, weights);
    IssuedPass issued = co_await saved_.forward(std::move(turn));
    activations_.after_forward(layer, issued);
    // the hook of this layer runs when the layer before it has left the GPU
    co_await room_.pass_ends();
    fetches_.prefetch_behind(layer);
    if (backward_follows && weights_.stays(layer) && layer >= job_.plans.first_backward) {
      weights_.keep(layer, std::move(weights));
      weights = GatheredWeights();
    }
    room_.follow(std::move(issued.last), {}, std::move(weights));
  }
  co_await room_.pass_ends();
}

Task<> LayerPasses::backward(StepNumbers numbers, std::uint64_t piece, MicroBatch micro) {
  numbers_ = numbers;
  const models::Span layers = job_.plans.pieces[piece].layers;
  fetches_.begin_pass(true, layers, numbers.micro_batch);
  room_.begin_pass();
  saved_.call_back(layers.last - 1);
  for (std::uint32_t number = fetches_.first_turn(); number < fetches_.turns(); ++number) {
    const std::uint32_t layer = fetches_.layer_at(number);
    if (fetches_.runs_again(number)) {
      co_await run_again(layer, number);
      continue;
    }
    co_await room_.for_weights(layer);
    GatheredWeights weights = co_await fetches_.arrive(layer);
    co_await room_.for_gradients(layer);
    LayerGradients gradients = co_await gradients_.begin_layer(layer, micro);
    BackwardTurn turn;
    turn.whole = co_await room_.for_backward(layer);
    activations_.before_backward(layer);
    take_turn(turn, layer, weights);
    turn.leave = room_.left_by(layer);
    turn.at.gradients = &gradients.views;
    turn.at.fresh = &gradients.fresh;
    turn.at.arrivals = &activations_.saved_arrivals(layer);
    std::vector<Op> after = co_await saved_.before_backward(turn);
    IssuedPass issued = co_await saved_.backward(turn, std::move(after));
    issued.last = gradients_.through_bucket(layer, gradients, std::move(issued.last), micro);
    activations_.after_backward(layer);
    co_await room_.pass_ends();
    room_.call_back_below(layer);
    if (number + 1 < fetches_.turns() && fetches_.runs_again(number + 1))
      saved_.prefetch(fetches_.layer_at(number + 1), room_.left_by(layer));
    fetches_.prefetch_behind(number);
    turn = BackwardTurn();  // its memory is the pass's
    room_.follow(issued.last, std::move(issued.segments), std::move(weights));
    co_await gradients_.leave(layer, std::move(gradients), issued.last, micro);
  }
  co_await room_.pass_ends();
  co_await gradients_.drain();
}

Task<> LayerPasses::weight_gradients(StepNumbers numbers, std::uint64_t piece, MicroBatch micro) {
  numbers_ = numbers;
  const models::Span layers = job_.plans.pieces[piece].layers;
  room_.begin_pass();
  for (std::uint32_t layer = layers.last; layer-- > layers.first;) {
    const LayerPlan& plan = job_.plans.layers[layer];
    if (plan.weight_gradients.segments.empty()) continue;
    GatheredWeights weights;  // which these products do not read
    weights.views.resize(plan.weights.size());
    weights.ready.resize(plan.weights.size());
    LayerGradients gradients = co_await gradients_.begin_layer(layer, micro);
    co_await room_.for_weight_gradients(layer);
    PassTurn turn;
    take_turn(turn, layer, weights);
    turn.at.gradients = &gradients.views;
    turn.at.fresh = &gradients.fresh;
    IssuedPass issued = passes_.issue(plan.weight_gradients, turn.at, {});
    issued.last = gradients_.through_bucket(layer, gradients, std::move(issued.last), micro);
    activations_.after_weight_gradients(layer);
    co_await room_.pass_ends();
    turn = PassTurn();  // its memory is the pass's
    room_.follow(issued.last, {}, GatheredWeights());
    co_await gradients_.leave(layer, std::move(gradients), issued.last, micro);
  }
  co_await room_.pass_ends();
  co_await gradients_.drain();
}

// ---- One layer's turn

Task<> LayerPasses::run_again(std::uint32_t layer, std::uint32_t turn) {
  co_await room_.for_weights(layer);
  GatheredWeights weights = co_await fetches_.arrive(layer);
  co_await room_.for_forward(layer);
  std::vector<Op> after = co_await saved_.before_again(layer);
  activations_.before_again(layer);
  PassTurn at;
  take_turn(at, layer, weights);
  IssuedPass issued = passes_.issue(job_.plans.layers[layer].again, at.at, std::move(after));
  co_await room_.pass_ends();
  fetches_.prefetch_behind(turn);
  room_.follow(std::move(issued.last), {}, std::move(weights));
}

void LayerPasses::take_turn(PassTurn& turn, std::uint32_t layer,
                            const GatheredWeights& weights) const {
  turn.passes = &passes_;
  turn.layer = layer;
  turn.before = room_.pass_before();
  turn.at.weights = &weights;
  turn.at.saved = &activations_.saved(layer);
  turn.at.transient = activations_.transient();
  turn.at.scratch = activations_.scratch();
  turn.at.logits = activations_.logits(layer);
  turn.at.hidden = &activations_.hidden();
  turn.at.numbers = numbers_;
}

}  // namespace spillway::strategies
