#include "strategies/parts/activations/activation_memory.hpp"

#include <algorithm>

namespace spillway::strategies {

TemporaryBytes temporary_bytes(const LayerPlan& plan, bool backward) {
  TemporaryBytes most;
  const auto holds = [&](const PassPlan& pass) {
    most.transient = std::max(most.transient, pass.transient_bytes);
    most.scratch = std::max(most.scratch, pass.scratch_bytes);
  };
  if (!backward) holds(plan.forward);
  if (!backward) return most;
  holds(plan.recompute), holds(plan.backward);
  const std::uint64_t logits = std::min(plan.norm_copies, plan.backward.logits_bytes);
  if (const std::uint64_t copies = plan.norm_copies - logits; copies > most.transient)
    most.transient = copies, most.most = Purpose::norm_copies;
  return most;
}

TemporaryBytes late_temporary_bytes(const LayerPlan& plan) {
  return {plan.weight_gradients.transient_bytes, plan.weight_gradients.scratch_bytes};
}

ActivationMemory::Record::Record(const LayerPlans& plans)
    : saved(plans.layers.size()),
      saved_arrivals(plans.layers.size()),
      logits(plans.layers.size()),
      hidden(plans.hidden.size()) {
  for (std::size_t layer = 0; layer < plans.layers.size(); ++layer) {
    saved[layer].resize(plans.layers[layer].saved.size());
    saved_arrivals[layer].resize(plans.layers[layer].saved.size());
  }
}

ActivationMemory::ActivationMemory(Machine& machine, Rank rank, const Job& job, std::size_t records)
    : machine_(machine), rank_(rank), job_(job), records_(records, Record(job.plans)) {}

std::optional<Buffer> ActivationMemory::try_allocate(std::uint64_t bytes, std::uint64_t leave) {
  if (machine_.usage(TierId::gpu, rank_).free < machine_.gpu_charge(bytes) + leave)
    return std::nullopt;
  return machine_.try_allocate(TierId::gpu, rank_, Bytes(bytes), Purpose::activations);
}

void ActivationMemory::end_micro_batch() {
  Record& record = now();
  for (auto& layer : record.saved)
    for (Buffer& buffer : layer) buffer.reset();
  for (Buffer& buffer : record.logits) buffer.reset();
  for (std::size_t i = 0; i < record.hidden.size(); ++i) {
    const HiddenTensor& hidden = job_.plans.hidden[i];
    if (!hidden.gradient || !hidden.sent_away) record.hidden[i].reset();
  }
}

}  // namespace spillway::strategies
