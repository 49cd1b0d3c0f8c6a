#include "strategies/parts/weights/layer_fetches.hpp"

#include <algorithm>

namespace spillway::strategies {

LayerFetches::LayerFetches(Machine& machine, const Job& job, Weights& weights)
    : machine_(machine),
      weights_(weights),
      overlap_(job.scenario.strategy.weights.overlap ||
               job.scenario.strategy.weights.home != description::Home::ssd),
      order_(job.plans.backward),
      fetches_(job.plans.layers.size()) {}

void LayerFetches::begin_pass(bool backward, models::Span layers,
                              std::optional<std::uint64_t> micro_batch) {
  backward_ = backward;
  turns_ = layers;
  if (backward) {  // descending: a layer's turns, with those of layers that run again, in a row
    const auto above = [&](const BackwardStep& step) { return step.layer >= layers.last; };
    const auto below = [&](const BackwardStep& step) { return step.layer < layers.first; };
    const auto begin = order_.begin(), first = std::find_if_not(begin, order_.end(), above);
    turns_.first = static_cast<std::uint32_t>(first - begin);
    turns_.last = static_cast<std::uint32_t>(std::find_if(first, order_.end(), below) - begin);
  }
  const std::size_t all = fetches_.size();
  fetches_.clear();
  fetches_.resize(all);
  weights_.begin_pass(backward, micro_batch);
}

void LayerFetches::fetch(std::uint32_t layer) {
  if (!fetches_[layer]) fetches_[layer] = machine_.spawn(weights_.gather(layer));
}

void LayerFetches::prefetch_behind(std::uint32_t turn) {
  if (!overlap_) return;
  weights_.look_again();
  const std::uint64_t last = turn + weights_.ahead();
  for (std::uint64_t next = turn + 1; next <= last && next < turns(); ++next)
    fetch(layer_at(static_cast<std::uint32_t>(next)));
}

bool LayerFetches::comes_in_its_turn(std::uint32_t layer) {
  if (!overlap_) return true;
  if (!weights_.fetches(layer)) return false;
  if (weights_.ahead() == 0) return true;
  fetch(layer);
  return !fetches_[layer].done() && weights_.held_back(layer);
}

std::uint64_t LayerFetches::missing_bytes(std::uint32_t layer) {
  if (!overlap_) return 0;
  fetch(layer);
  return fetches_[layer].done() ? 0 : weights_.gpu_bytes(layer);
}

std::uint64_t LayerFetches::gpu_bytes(std::uint32_t layer) { return weights_.gpu_bytes(layer); }

Task<GatheredWeights> LayerFetches::arrive(std::uint32_t layer) {
  weights_.demand(layer);
  fetch(layer);
  GatheredWeights weights = co_await std::move(fetches_[layer]);
  fetches_[layer].reset();
  weights_.has_come(layer);
  co_return weights;
}

}  // namespace spillway::strategies
