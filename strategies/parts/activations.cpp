#include "strategies/parts/activations.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::ActivationPolicy;

Activations::Activations(Machine& machine, Rank rank, const Job& job)
    : machine_(machine),
      rank_(rank),
      job_(job),
      policy_(job.scenario.strategy.activations.policy),
      saved_(job.plans.layers.size()),
      logits_(job.plans.layers.size()),
      hidden_(job.plans.hidden.size()),
      host_copies_(job.plans.hidden.size()),
      offloaded_(job.plans.hidden.size()),
      restored_(job.plans.hidden.size()),
      offloads_(job.plans.layers.size()) {
  for (std::uint32_t i = 0; i < job.plans.hidden.size(); ++i)
    if (offloads(job.plans.hidden[i]))
      offloads_[job.plans.hidden[i].last_forward_layer].push_back(i);
}

bool Activations::offloads(const HiddenTensor& tensor) const {
  return policy_ == ActivationPolicy::checkpoint_host && !tensor.gradient &&
         tensor.used_in_backward && job_.program.tensors[tensor.tensor].is_residual &&
         tensor.last_forward_layer == tensor.first_layer + 1 &&
         job_.model.layers[tensor.last_forward_layer].is_block;
}

bool Activations::recomputes(std::uint32_t layer) const {
  return policy_ != ActivationPolicy::keep && job_.model.layers[layer].is_block;
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

void Activations::end_micro_batch() {
  transient_.reset();
  scratch_.reset();
  for (auto* buffers : {&saved_, &logits_, &hidden_, &host_copies_})
    for (Buffer& buffer : *buffers) buffer.reset();
  for (auto* operations : {&offloaded_, &restored_})
    for (Op& operation : *operations) operation = Op();
}

void Activations::before_forward(std::uint32_t layer) {
  const LayerPlan& plan = job_.plans.layers[layer];
  if (!recomputes(layer) && plan.saved_bytes)
    saved_[layer] =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(plan.saved_bytes), Purpose::activations);
  const std::uint64_t logits = std::max(plan.forward.logits_bytes, plan.backward.logits_bytes);
  if (logits)
    logits_[layer] = machine_.allocate_now(TierId::gpu, rank_, Bytes(logits), Purpose::logits);
  for (const std::uint32_t i : plan.produced)
    hidden_[i] = machine_.allocate_now(TierId::gpu, rank_, Bytes(job_.plans.hidden[i].bytes),
                                       Purpose::activations);
}

void Activations::after_forward(std::uint32_t layer, const Op& computed) {
  for (const std::uint32_t i : offloads_[layer]) {
    const View from = hidden_[i].view();
    host_copies_[i] = machine_.allocate_now(TierId::pinned, rank_, Bytes(from.bytes),
                                            Purpose::offloaded_checkpoints);
    offloaded_[i] = machine_.copy(rank_, host_copies_[i].view(), from, computed);
    hidden_[i].reset();  // its bytes are free when the copy ends
  }
  for (const std::uint32_t i : job_.plans.layers[layer].released_forward) hidden_[i].reset();
}

void Activations::prefetch_backward(std::uint32_t layer) {
  for (const std::uint32_t i : offloads_[layer]) {
    hidden_[i] = machine_.allocate_now(TierId::gpu, rank_, Bytes(job_.plans.hidden[i].bytes),
                                       Purpose::activations);
    restored_[i] = machine_.copy(rank_, hidden_[i].view(), host_copies_[i].view(), offloaded_[i]);
    host_copies_[i].reset();
  }
}

void Activations::before_backward(std::uint32_t layer) {
  for (const std::uint32_t i : job_.plans.layers[layer].produced_backward)
    hidden_[i] = machine_.allocate_now(TierId::gpu, rank_, Bytes(job_.plans.hidden[i].bytes),
                                       Purpose::activations);
}

void Activations::after_backward(std::uint32_t layer) {
  saved_[layer].reset();
  logits_[layer].reset();
  for (const std::uint32_t i : job_.plans.layers[layer].released_backward) hidden_[i].reset();
}

std::vector<Op> Activations::arrivals(std::uint32_t layer) const {
  std::vector<Op> operations;
  for (const std::uint32_t i : offloads_[layer])
    if (restored_[i]) operations.push_back(restored_[i]);
  return operations;
}

View Activations::saved(std::uint32_t layer) const {
  return saved_[layer] ? saved_[layer].view() : View();
}

}  // namespace spillway::strategies
