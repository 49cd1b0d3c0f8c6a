#include "strategies/held_memory.hpp"

namespace spillway::strategies {

void HeldMemory::hold(TierId tier, Purpose purpose, Bytes bytes) {
  if (bytes.value()) buffers_.push_back(machine_.allocate_now(tier, rank_, bytes, purpose));
}

void HeldMemory::hold_bases(const description::MachineFile& machine) {
  const bool first = rank_.index == 0;
  hold(TierId::pageable, Purpose::process_base,
       first ? machine.host.process_base : machine.host.process_base_next);
  if (first) hold(TierId::pageable, Purpose::runtime_base, machine.host.runtime_base);
  hold(TierId::gpu, Purpose::context, machine.gpu.context);
}

}  // namespace spillway::strategies
