#include "strategies/schedules/layer_passes.hpp"

#include "strategies/machine/setup.hpp"

namespace spillway::strategies {

LayerPasses::LayerPasses(StreamingRank& parts)
    : machine_(parts.machine),
      rank_(parts.rank),
      job_(parts.job),
      activations_(parts.activations),
      weights_(parts.weights),
      gradients_(parts.gradients),
      fetches_(machine_, job_, weights_),
      room_(machine_, rank_, job_, fetches_, activations_, gradients_) {}

// ---- The passes

Task<> LayerPasses::forward(Numbers numbers, bool backward_follows) {
  numbers_ = numbers;
  fetches_.begin_pass(false);
  room_.begin_pass();
  for (std::uint32_t layer = 0; layer < fetches_.layers(); ++layer) {
    co_await room_.for_weights(layer);
    GatheredWeights weights = co_await fetches_.arrive(layer);
    co_await room_.for_forward(layer);
    activations_.before_forward(layer);
    IssuedPass issued = co_await issue_forward(layer, operands(layer, weights));
    activations_.after_forward(layer, issued);
    // the hook of this layer runs when the layer before it has left the GPU
    co_await room_.pass_ends();
    fetches_.prefetch_behind(layer);
    if (backward_follows && weights_.stays(layer)) {
      weights_.keep(layer, std::move(weights));
      weights = GatheredWeights();
    }
    room_.follow(std::move(issued.last), {}, std::move(weights));
  }
  co_await room_.pass_ends();
}

Task<> LayerPasses::backward(Numbers numbers, MicroBatch micro) {
  numbers_ = numbers;
  fetches_.begin_pass(true);
  room_.begin_pass();
  activations_.prefetch_backward(fetches_.layers() - 1, 0);
  for (std::uint32_t turn = 0; turn < fetches_.layers(); ++turn) {
    const std::uint32_t layer = fetches_.layer_at(turn);
    co_await room_.for_weights(layer);
    GatheredWeights weights = co_await fetches_.arrive(layer);
    co_await room_.for_gradients(layer);
    LayerGradients gradients = co_await gradients_.begin_layer(layer, micro);
    const bool whole = co_await room_.for_backward(layer);
    activations_.before_backward(layer);
    LayerOperands at = operands(layer, weights);
    at.gradients = &gradients.views;
    at.fresh = &gradients.fresh;
    at.arrivals = &activations_.saved_arrivals(layer);
    IssuedPass issued = co_await issue_backward(layer, at, whole);
    activations_.after_backward(layer);
    co_await room_.pass_ends();
    room_.call_back_below(layer);
    fetches_.prefetch_behind(turn);
    at = LayerOperands();
    room_.follow(issued.last, std::move(issued.segments), std::move(weights));
    co_await gradients_.leave(layer, std::move(gradients), issued.last, micro);
  }
  co_await room_.pass_ends();
  co_await gradients_.drain();
}

// ---- Kernels of one layer

LayerOperands LayerPasses::operands(std::uint32_t layer, const GatheredWeights& weights) const {
  LayerOperands at;
  at.weights = &weights;
  at.saved = &activations_.saved(layer);
  at.transient = activations_.transient();
  at.scratch = activations_.scratch();
  at.logits = activations_.logits(layer);
  at.hidden = &activations_.hidden();
  at.numbers = numbers_;
  return at;
}

PassIssuer LayerPasses::issuer(const PassPlan& pass, const LayerOperands& at,
                               std::vector<Op> after) const {
  return PassIssuer(machine_, rank_, tensor_group(job_.scenario, rank_), pass, at, std::move(after),
                    !fetches_.overlap());
}

IssuedPass LayerPasses::issue(const PassPlan& pass, const LayerOperands& at,
                              std::vector<Op> after) const {
  return issue_pass(machine_, rank_, tensor_group(job_.scenario, rank_), pass, at, std::move(after),
                    !fetches_.overlap());
}

Task<IssuedPass> LayerPasses::issue_forward(std::uint32_t layer, LayerOperands at) {
  if (activations_.by_module()) co_return co_await forward_by_module(layer, at);
  co_return issue(job_.plans.layers[layer].forward, at, {});
}

/// A segment at a time, at most one ahead of the GPU: memory is taken for what it makes, and what
/// it completed is stored.
Task<IssuedPass> LayerPasses::forward_by_module(std::uint32_t layer, LayerOperands at) {
  const PassPlan& pass = job_.plans.layers[layer].forward;
  PassIssuer segments = issuer(pass, at, {});
  Op before = room_.pass_before();
  for (std::uint32_t i = 0; i < pass.segments.size(); ++i) {
    activations_.enter_forward_segment(layer, pass.segments[i]);
    const Op issued = segments.next();
    activations_.leave_forward_segment(layer, i, issued);
    co_await before;
    before = issued;
  }
  co_return segments.finish();
}

/// With what it makes again.
///   whole  all that comes back for it is on its way
Task<IssuedPass> LayerPasses::issue_backward(std::uint32_t layer, LayerOperands at, bool whole) {
  const LayerPlan& plan = job_.plans.layers[layer];
  if (!whole && !activations_.by_module()) co_return co_await as_it_returns(layer, at);
  std::vector<Op> arrivals = co_await activations_.arrivals(layer, 0);
  if (activations_.recomputes(layer)) {
    const IssuedPass recomputed = issue(plan.recompute, at, std::move(arrivals));
    arrivals = {recomputed.last};
  }
  if (!activations_.by_module()) co_return issue(plan.backward, at, std::move(arrivals));
  IssuedPass issued;
  issued.last = co_await backward_by_module(layer, at, std::move(arrivals));
  co_return issued;
}

/// A segment at a time, at most one ahead of the GPU: what a module needs is asked for when it
/// begins, and given back when it is through.
Task<Op> LayerPasses::backward_by_module(std::uint32_t layer, LayerOperands at,
                                         std::vector<Op> after) {
  const PassPlan& pass = job_.plans.layers[layer].backward;
  PassIssuer segments = issuer(pass, at, std::move(after));
  Op before = room_.pass_before();
  for (const PassPlan::Segment& segment : pass.segments) {
    co_await activations_.enter_segment(layer, segment);
    const Op issued = segments.next();
    activations_.leave_segment(layer, segment);
    co_await before;
    before = issued;
  }
  co_return segments.finish().last;
}

/// Of saved tensors that do not find room all at once: a segment when what it needs is on its way,
/// as far as those before it give back their memory.
Task<IssuedPass> LayerPasses::as_it_returns(std::uint32_t layer, LayerOperands at) {
  const PassPlan& pass = job_.plans.layers[layer].backward;
  PassIssuer segments = issuer(pass, at, {});
  std::vector<Op> running;
  std::size_t ended = 0, arrived = 0;
  for (const PassPlan::Segment& segment : pass.segments) {
    room_.call_back(layer);
    while (!activations_.returns_for(layer, segment) && ended < running.size()) {
      co_await running[ended++];
      room_.call_back(layer);
    }
    if (!activations_.returns_for(layer, segment)) activations_.prefetch_for(layer, segment);
    std::vector<Op> hidden = co_await activations_.arrivals(layer, arrived);
    arrived = activations_.returned(layer);
    for (const Op& there : hidden) co_await there;
    running.push_back(segments.next());
    activations_.leave_part(segment);
  }
  co_return segments.finish();
}

}  // namespace spillway::strategies
