#include "strategies/layout/held_memory.hpp"

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

void HeldMemory::hold(TierId tier, Purpose purpose, Bytes bytes) {
  if (bytes.value()) buffers_.push_back(machine_.allocate_now(tier, rank_, bytes, purpose));
}

void HeldMemory::hold_bases(const description::MachineFile& machine) {
  const bool first = rank_.index == 0;
  if (machine_.topology().alike == 1) {  // else they are outside of what ranks share
    hold(TierId::pageable, Purpose::process_base,
         first ? machine.host.process_base : machine.host.process_base_next);
    if (first) hold(TierId::pageable, Purpose::runtime_base, machine.host.runtime_base);
  }
  hold(TierId::gpu, Purpose::context, machine.gpu.context);
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
