#include "strategies/parts/weights/weights.hpp"

#include "strategies/layout/chunk_knobs.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::Home;

Weights::Weights(Machine& machine, Rank rank, const Job& job, Sources sources)
    : machine_(machine),
      rank_(rank),
      job_(job),
      sources_(std::move(sources)),
      chosen_(job),
      turn_(machine.scheduler(), 1),
      looked_again_(machine.scheduler()) {
  for (std::size_t layer = 0; layer < job.model.layers.size(); ++layer)
    demanded_.emplace_back(machine.scheduler());
  for (std::size_t weight = 0; weight < job.model.weights.size(); ++weight)
    renewed_.emplace_back(machine.scheduler()).set();
  held_back_.resize(demanded_.size());
  stays_.resize(demanded_.size());
  kept_.resize(demanded_.size());
}

WeightSource& Weights::source(std::uint32_t weight) const {
  switch (sources_.layout->home[weight]) {
    case Home::gpu:
      return *sources_.gpu;
    case Home::host:
      return *sources_.host;
    case Home::ssd:
      break;
  }
  return *sources_.storage;
}

std::vector<WeightSource*> Weights::all() const {
  std::vector<WeightSource*> there;
  for (WeightSource* one : {static_cast<WeightSource*>(sources_.gpu.get()), sources_.host.get(),
                            static_cast<WeightSource*>(sources_.storage.get())})
    if (one) there.push_back(one);
  return there;
}

Task<> Weights::init() {
  const std::vector<WeightSource*> sources = all();
  for (WeightSource* const one : sources) co_await one->init();
}

void Weights::step_ends() {
  for (WeightSource* const one : all()) one->step_ends();
}

void Weights::look_again() {
  looked_again_.set();
  looked_again_.reset();
}

void Weights::demand(std::uint32_t layer) {
  demanded_[layer].set();
  look_again();
}

void Weights::begin_pass(bool backward, std::optional<std::uint64_t> micro_batch) {
  chosen_.set_micro_batch(micro_batch);
  for (WeightSource* const one : all()) one->begin_pass(backward);
  for (Event& event : demanded_) event.reset();
}

std::uint64_t Weights::ahead() const {
  const auto& part = job_.scenario.strategy.weights;
  return part.prefetch_bucket.value() && part.max_live.value() ? part.prefetch_blocks : 0;
}

bool Weights::fetches(std::uint32_t layer) {
  if (kept_[layer]) return false;
  const auto& slots = job_.plans.layers[layer].weights;
  return std::any_of(slots.begin(), slots.end(), [this](const LayerWeight& slot) {
    return source(slot.weight).fetches(slot) && comes(slot.weight);
  });
}

void Weights::find_staying(const std::function<bool(std::uint32_t)>& recomputes) {
  // chunks stay as long as `chunk_cache` has room, whatever a layer asks for
  const bool by_chunks = chunk_knobs(job_.scenario.strategy).used;
  std::uint64_t passed = 0;
  for (auto layer = static_cast<std::uint32_t>(stays_.size()); layer-- > 0;) {
    stays_[layer] = passed < job_.scenario.strategy.weights.max_reuse.value() && !by_chunks;
    for (const LayerWeight& slot : job_.plans.layers[layer].weights)
      passed += (recomputes(layer) ? 3 : 2) * job_.elements(slot.weight);
  }
}

/// `max_live` allows it. DeepSpeed's bucket limits what one module fetches ahead, at least one
/// tensor; a block has more modules than tensors, so that it sets no limit to a block.
///   Source  partitioned_param_coordinator.py, _fetch_sub_module_impl
bool Weights::may_live(std::uint32_t weight) const {
  return live_ + job_.elements(weight) <= job_.scenario.strategy.weights.max_live.value();
}

std::uint64_t Weights::gpu_bytes(std::uint32_t layer) {
  std::uint64_t bytes = 0;
  for (const WeightSource* const one : all()) bytes += one->gpu_bytes_of_layer(layer);
  for (const LayerWeight& slot : job_.plans.layers[layer].weights)
    if (comes(slot.weight)) bytes += machine_.gpu_charge(source(slot.weight).gpu_bytes(slot));
  return bytes;
}

void Weights::fill_in(std::uint32_t layer, GatheredWeights& gathered) {
  if (!chosen_.any()) return;
  const LayerPlan& plan = job_.plans.layers[layer];
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    if (comes(plan.weights[i].weight)) continue;
    const std::size_t other = chosen_.stand_in(plan, plan.weights[i].weight);
    gathered.views[i] = gathered.views[other];
    gathered.ready[i] = gathered.ready[other];
  }
}

Task<GatheredWeights> Weights::gather(std::uint32_t layer) {
  if (kept_[layer]) {
    GatheredWeights kept = std::move(*kept_[layer]);
    kept_[layer].reset();
    co_return kept;
  }
  const Semaphore::Lock turn = co_await turn_.acquire();
  GatheredWeights gathered;
  const std::vector<WeightSource*> sources = all();
  // before its turn a layer takes no room that is not free
  for (WeightSource* const one : sources) {
    if (one->gpu_bytes_of_layer(layer) > machine_.usage(TierId::gpu, rank_).free)
      co_await demanded_[layer];
    one->begin_layer(layer);
  }
  for (const LayerWeight& slot : job_.plans.layers[layer].weights) {
    if (!comes(slot.weight)) {
      gathered.views.emplace_back();
      gathered.ready.emplace_back();
      continue;
    }
    co_await renewed_[slot.weight];
    WeightSource& from = source(slot.weight);
    Buffer into;
    if (const Bytes bytes(from.gpu_bytes(slot)); bytes.value()) {
      held_back_[layer] = !may_live(slot.weight);
      while (!may_live(slot.weight) && !demanded_[layer].is_set()) co_await looked_again_;
      held_back_[layer] = false;
      auto free = machine_.try_allocate(TierId::gpu, rank_, bytes, Purpose::gathered_weights);
      if (!free) co_await demanded_[layer];
      into = free ? std::move(*free)
                  : machine_.allocate_now(TierId::gpu, rank_, bytes, Purpose::gathered_weights);
      gathered.live.emplace_back(live_, job_.elements(slot.weight));
    }
    FetchedWeight fetched = co_await from.fetch(slot, std::move(into));
    gathered.views.push_back(std::move(fetched.whole));
    gathered.ready.push_back(std::move(fetched.ready));
    if (fetched.read) gathered.reads.push_back(std::move(fetched.read));
  }
  fill_in(layer, gathered);
  co_return gathered;
}

}  // namespace spillway::strategies
