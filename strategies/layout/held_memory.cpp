#include "strategies/layout/held_memory.hpp"

#include "strategies/layout/job.hpp"
#include "strategies/layout/landing.hpp"

namespace spillway::strategies {

void HeldMemory::hold(TierId tier, Purpose purpose, Bytes bytes) {
  if (bytes.value()) buffers_.push_back(machine_.allocate_now(tier, rank_, bytes, purpose));
}

void HeldMemory::hold_bases(const description::MachineFile& machine) {
  const bool first = machine_.topology().is_first(rank_);
  if (machine_.topology().alike == 1) {  // else they are outside of what ranks share
    hold(TierId::pageable, Purpose::process_base,
         first ? machine.host.process_base : machine.host.process_base_next);
    if (first) hold(TierId::pageable, Purpose::runtime_base, machine.host.runtime_base);
  }
  hold(TierId::gpu, Purpose::context, machine.gpu.context);
}

void hold_fp8(HeldMemory& held, const Job& job) {
  constexpr std::uint64_t scaled = 5, history = 1024, scale_and_inverse = 2;
  const description::Training& training = job.scenario.training;
  if (training.precision != description::Precision::fp8) return;
  const bool kept = training.fp8.weight_copies == description::WeightCopies::kept;
  std::uint64_t bytes = 0;
  for (std::uint32_t index = 0; index < job.model.weights.size(); ++index) {
    const models::WeightTensor& weight = job.model.weights[index];
    if (!weight.multiplies_in_block() || !job.holds(index)) continue;
    const bool goes_back = job.program.layers[weight.layer].goes_back();
    const std::uint64_t copies = !kept ? 0 : training.fp8.transposes && goes_back ? 2 : 1;
    bytes +=
        copies * job.elements(index) + scaled * fp32_numbers.bytes(history + scale_and_inverse);
  }
  held.hold(TierId::gpu, Purpose::weight_copies, Bytes(bytes));
}

void hold_update_process(HeldMemory& held, const Job& job) {
  if (job.scenario.strategy.optimizer.roll_back)
    held.hold(TierId::gpu, Purpose::context, job.scenario.machine.gpu.context);
}

void hold_shared_update(HeldMemory& held, const Job& job) {
  if (!updates_in_shared_memory(job.scenario)) return;
  const std::uint64_t wide = job.tensors.sum([](const TensorRow& row) {
    return row.trainable() ? fp32_numbers.bytes(row.share(row.shards.state_ways())) : 0;
  });
  held.hold(TierId::pageable, Purpose::master_weights, Bytes(wide));
  held.hold(TierId::pageable, Purpose::optimizer_states, Bytes(2 * wide));
  if (gradients_are_pageable(job.scenario)) return;
  for (int block = 0; block < 2; ++block)
    held.hold(TierId::pinned, Purpose::allocator_cache, Bytes(wide));
}

void hold_initialisation_blocks(HeldMemory& held, const Job& job) {
  const auto& strategy = job.scenario.strategy;
  if (strategy.weights.home != description::Home::host ||
      strategy.pinned != description::PinnedPolicy::power_of_two)
    return;
  for (const TensorRow& row : job.tensors.rows())
    if (row.is_cast())
      held.hold(TierId::pinned, Purpose::allocator_cache,
                Bytes(row.weight.bytes(row.share(row.shards.weight_ways()))));
}

}  // namespace spillway::strategies
