#include "strategies/parts/activations/activations.hpp"

#include <algorithm>

namespace spillway::strategies {

Activations::Activations(Machine& machine, Rank rank, const Job& job, ActivationMemory& memory,
                         SavedTensors& saved)
    : machine_(machine), rank_(rank), job_(job), memory_(memory), saved_(saved) {}

void Activations::use(std::size_t record) {
  memory_.use(record);
  saved_.use(record);
}

Task<> Activations::end_micro_batch() {
  transient_.reset();
  scratch_.reset();
  memory_.end_micro_batch();
  co_await saved_.end_micro_batch();
}

// ---- Between pipeline stages

View Activations::receive(std::uint32_t hidden) {
  memory_.now().hidden[hidden] = allocate_hidden(hidden);
  return hidden_view(hidden);
}

View Activations::hidden_view(std::uint32_t hidden) const {
  return now().hidden[hidden].view(
      0, job_.program.tensors[job_.plans.hidden[hidden].tensor].bytes.value());
}

void Activations::sent(std::uint32_t hidden) {
  if (job_.plans.hidden[hidden].sent_away || saved_.holds(hidden))
    memory_.now().hidden[hidden].reset();
}

// ---- Passes of a layer

bool Activations::has_room(const TemporaryBytes& room) const {
  return room.transient == transient_.size().value() && room.scratch == scratch_.size().value();
}

void Activations::make_room(const TemporaryBytes& room) {
  if (transient_.size().value() != room.transient) transient_.reset();
  if (scratch_.size().value() != room.scratch) scratch_.reset();
  if (room.transient && !transient_) transient_ = memory_.allocate(room.transient, room.most);
  if (room.scratch && !scratch_) scratch_ = memory_.allocate(room.scratch, Purpose::workspace);
}

std::uint64_t Activations::gpu_bytes(std::uint32_t layer, bool backward) const {
  const LayerPlan& plan = job_.plans.layers[layer];
  const TemporaryBytes room = temporary_bytes(plan, backward);
  std::uint64_t bytes = 0;
  const auto add = [&](std::uint64_t size) { bytes += machine_.gpu_charge(size); };
  for (const std::uint32_t i : backward ? plan.produced_backward : plan.produced)
    add(job_.plans.hidden[i].bytes);
  if (room.transient > transient_.size().value()) add(room.transient - transient_.size().value());
  if (room.scratch > scratch_.size().value()) add(room.scratch - scratch_.size().value());
  if (backward) return bytes + saved_.bytes_to_return(layer);
  for (const auto& saved : plan.saved) add(saved.bytes);
  add(std::max(plan.forward.logits_bytes, plan.backward.logits_bytes));
  return bytes;
}

void Activations::before_forward(std::uint32_t layer) {
  const LayerPlan& plan = job_.plans.layers[layer];
  saved_.before_forward(layer);
  const std::uint64_t logits = std::max(plan.forward.logits_bytes, plan.backward.logits_bytes);
  if (logits) memory_.now().logits[layer] = memory_.allocate(logits, Purpose::logits);
  for (const std::uint32_t i : plan.produced) memory_.now().hidden[i] = allocate_hidden(i);
}

void Activations::after_forward(std::uint32_t layer, const IssuedPass& issued) {
  saved_.after_forward(layer, issued);
  for (const std::uint32_t i : job_.plans.layers[layer].released_forward)
    memory_.now().hidden[i].reset();
  for (const std::uint32_t i : job_.plans.layers[layer].dropped) memory_.now().hidden[i].reset();
}

void Activations::before_again(std::uint32_t layer) {
  for (const std::uint32_t i : job_.plans.layers[layer].remade)
    memory_.now().hidden[i] = allocate_hidden(i);
}

void Activations::before_backward(std::uint32_t layer) {
  for (const std::uint32_t i : job_.plans.layers[layer].produced_backward)
    memory_.now().hidden[i] = allocate_hidden(i);
  const std::vector<SavedTensor>& saved = job_.plans.layers[layer].saved;
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (saved[i].made_in_backward) memory_.now().saved[layer][i] = memory_.allocate(saved[i].bytes);
}

void Activations::after_backward(std::uint32_t layer) {
  ActivationMemory::Record& record = memory_.now();
  for (std::size_t i = 0; i < record.saved[layer].size(); ++i)
    if (!job_.plans.layers[layer].saved[i].late) record.saved[layer][i].reset();
  record.logits[layer].reset();
  for (const std::uint32_t i : job_.plans.layers[layer].released_backward) record.hidden[i].reset();
}

void Activations::after_weight_gradients(std::uint32_t layer) {
  ActivationMemory::Record& record = memory_.now();
  for (Buffer& buffer : record.saved[layer]) buffer.reset();
  for (const std::uint32_t i : job_.plans.layers[layer].released_late) record.hidden[i].reset();
}

}  // namespace spillway::strategies
