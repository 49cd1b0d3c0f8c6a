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

void Activations::begin_micro_batch() {
  std::uint64_t transient = 0, scratch = 0, saved = 0;
  for (const LayerPlan& plan : job_.plans.layers) {
    for (const PassPlan* pass : {&plan.forward, &plan.recompute, &plan.backward}) {
      transient = std::max(transient, pass->transient_bytes);
      scratch = std::max(scratch, pass->scratch_bytes);
    }
    if (recomputes(plan.layer)) saved = std::max(saved, plan.saved_bytes);
  }
  const auto on_gpu = [&](std::uint64_t bytes, Purpose purpose) {
    return bytes ? machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), purpose) : Buffer();
  };
  transient_ = on_gpu(transient, Purpose::activations);
  block_saved_ = on_gpu(saved, Purpose::activations);
  scratch_ = on_gpu(scratch, Purpose::workspace);
}

void Activations::end_micro_batch() {
  transient_.reset();
  block_saved_.reset();
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
  if (recomputes(layer)) return block_saved_ ? block_saved_.view() : View();
  return saved_[layer] ? saved_[layer].view() : View();
}

}  // namespace spillway::strategies
