#include "strategies/parts/activations/activations.hpp"

#include <algorithm>

namespace spillway::strategies {

Activations::Record::Record(const LayerPlans& plans)
    : saved(plans.layers.size()),
      saved_arrivals(plans.layers.size()),
      logits(plans.layers.size()),
      hidden(plans.hidden.size()),
      returned(plans.layers.size()) {
  for (std::size_t layer = 0; layer < plans.layers.size(); ++layer) {
    saved[layer].resize(plans.layers[layer].saved.size());
    saved_arrivals[layer].resize(plans.layers[layer].saved.size());
  }
}

Activations::Activations(Machine& machine, Rank rank, const Job& job, std::size_t records)
    : machine_(machine),
      rank_(rank),
      job_(job),
      swap_(machine, rank, job),
      waits_(job.scenario.strategy.activations.policy == description::ActivationPolicy::swap ||
             job.scenario.strategy.activations.policy == description::ActivationPolicy::plan),
      cache_(job.activations.by_module ? std::make_unique<TensorCache>(machine, rank, job, records)
                                       : nullptr),
      records_(records, Record(job.plans)) {
  ENSURE(records == 1 || cache_ || job.plans.moved.empty(),
         "tensors of several micro-batches leave, and no cache tells them apart");
}

void Activations::use(std::size_t record) {
  now_ = record;
  if (cache_) cache_->use(record);
}

void Activations::begin_micro_batch(bool backward_follows) {
  before_ = Op();  // what is there from the stage before has nothing to wait for
  if (cache_) cache_->begin_micro_batch(backward_follows);
}

View Activations::receive(std::uint32_t hidden) {
  now().hidden[hidden] = allocate_hidden(hidden);
  return hidden_view(hidden);
}

View Activations::hidden_view(std::uint32_t hidden) const {
  return now().hidden[hidden].view(
      0, job_.program.tensors[job_.plans.hidden[hidden].tensor].bytes.value());
}

void Activations::sent(std::uint32_t hidden) {
  bool goes = job_.plans.hidden[hidden].sent_away;
  for (std::uint32_t i = 0; cache_ && i < job_.plans.moved.size(); ++i) {
    const MovedTensor& moved = job_.plans.moved[i];
    goes |= moved.hidden && moved.index == hidden && cache_->stores(i);
  }
  if (goes) now().hidden[hidden].reset();
}

Buffer Activations::allocate_hidden(std::uint32_t hidden) {
  return machine_.allocate_now(TierId::gpu, rank_, Bytes(job_.plans.hidden[hidden].bytes),
                               Purpose::activations);
}

Activations::Room Activations::room_for(std::uint32_t layer, bool backward) const {
  const LayerPlan& plan = job_.plans.layers[layer];
  Room room;
  const auto holds = [&](const PassPlan& pass) {
    room.transient = std::max(room.transient, pass.transient_bytes);
    room.scratch = std::max(room.scratch, pass.scratch_bytes);
  };
  if (!backward) holds(plan.forward);
  if (backward) holds(plan.recompute), holds(plan.backward);
  return room;
}

bool Activations::has_room(std::uint32_t layer, bool backward) const {
  const Room room = room_for(layer, backward);
  return room.transient == transient_.size().value() && room.scratch == scratch_.size().value();
}

void Activations::make_room(std::uint32_t layer, bool backward) {
  const Room room = room_for(layer, backward);
  if (transient_.size().value() != room.transient) transient_.reset();
  if (scratch_.size().value() != room.scratch) scratch_.reset();
  if (room.transient && !transient_)
    transient_ =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(room.transient), Purpose::activations);
  if (room.scratch && !scratch_)
    scratch_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(room.scratch), Purpose::workspace);
}

std::uint64_t Activations::gpu_bytes(std::uint32_t layer, bool backward) const {
  const LayerPlan& plan = job_.plans.layers[layer];
  const Room room = room_for(layer, backward);
  std::uint64_t bytes = 0;
  const auto add = [&](std::uint64_t size) { bytes += machine_.gpu_charge(size); };
  for (const std::uint32_t i : backward ? plan.produced_backward : plan.produced)
    add(job_.plans.hidden[i].bytes);
  if (room.transient > transient_.size().value()) add(room.transient - transient_.size().value());
  if (room.scratch > scratch_.size().value()) add(room.scratch - scratch_.size().value());
  if (backward) {
    for (std::size_t i = now().returned[layer]; i < plan.returns.size(); ++i)
      add(job_.plans.moved[plan.returns[i]].bytes);
    return bytes;
  }
  for (const auto& saved : plan.saved) add(saved.bytes);
  add(std::max(plan.forward.logits_bytes, plan.backward.logits_bytes));
  return bytes;
}

// g++ 12 frees what it must not when a co_await stands behind &&, or in a loop's condition
Task<bool> Activations::one_leaves() {
  bool left = false;
  if (waits_) left = co_await swap_.one_leaves();
  co_return left;
}

Task<> Activations::end_micro_batch() {
  Record& record = now();
  std::fill(record.returned.begin(), record.returned.end(), 0);
  transient_.reset();
  scratch_.reset();
  for (auto& layer : record.saved)
    for (Buffer& buffer : layer) buffer.reset();
  for (Buffer& buffer : record.logits) buffer.reset();
  for (std::size_t i = 0; i < record.hidden.size(); ++i) {
    const HiddenTensor& hidden = job_.plans.hidden[i];  // gradients are still to be sent
    if (!hidden.gradient || !hidden.sent_away) record.hidden[i].reset();
  }
  co_await swap_.settle();
}

void Activations::before_forward(std::uint32_t layer) {
  const LayerPlan& plan = job_.plans.layers[layer];
  for (std::size_t i = 0; !cache_ && i < plan.saved.size(); ++i)
    now().saved[layer][i] =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(plan.saved[i].bytes), Purpose::activations);
  const std::uint64_t logits = std::max(plan.forward.logits_bytes, plan.backward.logits_bytes);
  if (logits)
    now().logits[layer] = machine_.allocate_now(TierId::gpu, rank_, Bytes(logits), Purpose::logits);
  for (const std::uint32_t i : plan.produced) now().hidden[i] = allocate_hidden(i);
}

void Activations::after_forward(std::uint32_t layer, const IssuedPass& issued) {
  if (cache_)
    after_forward_by_module(layer, issued);
  else
    for (const std::uint32_t i : job_.plans.layers[layer].leaves) {
      const MovedTensor& moved = job_.plans.moved[i];
      Buffer& buffer = memory_of(moved);
      swap_.leave(i, std::move(buffer),
                  moved.hidden ? issued.last : issued.segments[moved.made_in]);
      buffer.reset();
    }
  for (const std::uint32_t i : job_.plans.layers[layer].released_forward) now().hidden[i].reset();
}

void Activations::enter_forward_segment(std::uint32_t layer, const PassPlan::Segment& segment) {
  expect_at(segment.module, false);
  const LayerPlan& plan = job_.plans.layers[layer];
  for (const std::uint32_t i : segment.makes)
    now().saved[layer][i] =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(plan.saved[i].bytes), Purpose::activations);
}

void Activations::leave_forward_segment(std::uint32_t layer, std::uint32_t index,
                                        const Op& issued) {
  const LayerPlan& plan = job_.plans.layers[layer];
  for (const std::uint32_t i : plan.leaves) {
    const MovedTensor& moved = job_.plans.moved[i];
    if (moved.hidden) {  // made by a layer before, and saved by this one's first operators
      if (index == 0 && job_.plans.hidden[moved.index].first_layer != layer)
        cache_->pack(i, memory_of(moved), before_);
    } else if (moved.made_in == index) {
      cache_->pack(i, memory_of(moved), issued);
    }
  }
  for (const std::uint32_t i : plan.forward.segments[index].releases)
    if (cache_->stores(i)) memory_of(job_.plans.moved[i]).reset();
}

/// Packs hidden states that the layer made and saved itself; drops those that are stored, when no
/// forward reads them any more.
void Activations::after_forward_by_module(std::uint32_t layer, const IssuedPass& issued) {
  const PassPlan& pass = job_.plans.layers[layer].forward;
  Op first = issued.first;
  for (std::size_t i = 0; i < pass.segments.size(); ++i) {
    const std::uint32_t module = pass.segments[i].module;
    if (i + 1 < pass.segments.size() && pass.segments[i + 1].module == module) continue;
    cache_->forward_ran(module, first, issued.segments[i]);
    first = issued.segments[i];
  }
  for (const std::uint32_t i : job_.plans.layers[layer].leaves) {
    const MovedTensor& moved = job_.plans.moved[i];
    if (moved.hidden && job_.plans.hidden[moved.index].first_layer == layer)
      cache_->pack(i, memory_of(moved), issued.last);
  }
  for (std::uint32_t i = 0; i < job_.plans.moved.size(); ++i) {
    const MovedTensor& moved = job_.plans.moved[i];
    if (moved.hidden && job_.plans.hidden[moved.index].last_forward_layer == layer &&
        !job_.plans.hidden[moved.index].sent && cache_->stores(i))
      memory_of(moved).reset();
  }
  before_ = issued.last;
}

/// The last module of a forward, or the first layer of a backward, begins.
void Activations::expect_at(std::uint32_t module, bool backward) {
  const auto& scopes = job_.plans.scopes;
  if (!expected_ || scopes.empty()) return;
  const auto& modules = job_.plans.modules;
  const bool ends = backward ? modules[module].layer <= modules[scopes.front().module].layer
                             : module >= scopes.back().module;
  if (!ends) return;
  cache_->prefetch_last(*expected_);
  expected_.reset();
}

Task<> Activations::enter_segment(std::uint32_t layer, const PassPlan::Segment& segment) {
  cache_->prefetch(segment.module);
  expect_at(segment.module, true);
  for (const std::uint32_t i : segment.needs) {
    Buffer& buffer = memory_of(job_.plans.moved[i]);
    if (!buffer) buffer = co_await cache_->unpack(i);
    ENSURE(buffer, "a tensor of layer " + std::to_string(layer) + " is not in the cache");
  }
}

void Activations::leave_segment(std::uint32_t layer, const PassPlan::Segment& segment) {
  for (const std::uint32_t i : segment.releases) {
    const MovedTensor& moved = job_.plans.moved[i];
    ENSURE(moved.layer == layer, "released by a layer that others follow");
    memory_of(moved).reset();
    cache_->release(i);
  }
}

Task<> Activations::settle() {
  if (cache_) co_await cache_->settle();
}

void Activations::prefetch_backward(std::uint32_t layer, std::uint64_t reserve) {
  if (cache_) return;
  const auto& returns = job_.plans.layers[layer].returns;
  while (now().returned[layer] < returns.size()) {
    const MovedTensor& moved = job_.plans.moved[returns[now().returned[layer]]];
    const std::uint64_t bytes = machine_.gpu_charge(moved.bytes);
    if (waits_ && reserve && machine_.usage(TierId::gpu, rank_).free < bytes + reserve) return;
    call_next_back(layer);
  }
}

void Activations::call_next_back(std::uint32_t layer) {
  const std::uint32_t i = job_.plans.layers[layer].returns[now().returned[layer]];
  Buffer& buffer = memory_of(job_.plans.moved[i]);
  buffer = machine_.allocate_now(TierId::gpu, rank_, Bytes(job_.plans.moved[i].bytes),
                                 Purpose::activations);
  swap_.call_back(i, buffer.view());
  ++now().returned[layer];
}

bool Activations::returns_for(std::uint32_t layer, const PassPlan::Segment& segment) const {
  const auto& returns = job_.plans.layers[layer].returns;
  const auto open = returns.begin() + static_cast<std::ptrdiff_t>(returned(layer));
  return std::none_of(segment.needs.begin(), segment.needs.end(), [&](std::uint32_t moved) {
    return std::find(open, returns.end(), moved) != returns.end();
  });
}

void Activations::prefetch_for(std::uint32_t layer, const PassPlan::Segment& segment) {
  while (!returns_for(layer, segment)) call_next_back(layer);
}

void Activations::leave_part(const PassPlan::Segment& segment) {
  for (const std::uint32_t i : segment.releases)
    if (!job_.plans.moved[i].hidden) memory_of(job_.plans.moved[i]).reset();
}

/// What the passes below `layer` take before their own tensors.
std::uint64_t Activations::room_of_passes(std::uint32_t layer) const {
  std::uint64_t most = 0;
  for (std::uint32_t below = 0; below < layer; ++below) {
    const LayerPlan& plan = job_.plans.layers[below];
    const Room room = room_for(below, true);
    std::uint64_t bytes = room.transient + room.scratch + 2 * plan.weight_bytes;
    for (const std::uint32_t i : plan.produced_backward)
      bytes += machine_.gpu_charge(job_.plans.hidden[i].bytes);
    most = std::max(most, bytes);
  }
  return most;
}

void Activations::return_early(std::uint32_t layer) {
  if (!job_.activations.returns_early || layer == 0) return;
  const std::uint64_t reserve = room_of_passes(layer) + 1;
  for (std::uint32_t below = layer; below-- > 0;) {
    prefetch_backward(below, reserve);
    if (!returns_all(below)) return;
  }
}

bool Activations::returns_all(std::uint32_t layer) const {
  return now().returned[layer] == job_.plans.layers[layer].returns.size();
}

Task<std::vector<Op>> Activations::arrivals(std::uint32_t layer, std::size_t from) {
  std::vector<Op> hidden;
  if (cache_) co_return hidden;
  for (std::size_t number = from; number < returned(layer); ++number) {
    const std::uint32_t i = job_.plans.layers[layer].returns[number];
    const MovedTensor& moved = job_.plans.moved[i];
    Op arrived = co_await swap_.arrival(i);
    if (moved.hidden)
      hidden.push_back(std::move(arrived));
    else
      now().saved_arrivals[layer][moved.index] = std::move(arrived);
  }
  co_return hidden;
}

void Activations::before_backward(std::uint32_t layer) {
  for (const std::uint32_t i : job_.plans.layers[layer].produced_backward)
    now().hidden[i] = allocate_hidden(i);
}

void Activations::after_backward(std::uint32_t layer) {
  for (Buffer& buffer : now().saved[layer]) buffer.reset();
  now().logits[layer].reset();
  for (const std::uint32_t i : job_.plans.layers[layer].released_backward) now().hidden[i].reset();
}

}  // namespace spillway::strategies
