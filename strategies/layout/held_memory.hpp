#pragma once

#include "scenarios/description/machine_file.hpp"
#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// What a rank holds from the beginning of a run to its end, whatever its schedule.
class HeldMemory {
 public:
  HeldMemory(Machine& machine, Rank rank) : machine_(machine), rank_(rank) {}

  /// Nothing is held of zero bytes.  Throws  OutOfMemory
  void hold(TierId tier, Purpose purpose, Bytes bytes);
  /// What the rank's process, the node's runtime (with its first rank) and the GPU's context take.
  ///   Throws  OutOfMemory
  void hold_bases(const description::MachineFile& machine);

 private:
  Machine& machine_;
  Rank rank_;
  std::vector<Buffer> buffers_;
};

struct Job;
/// Casting the parameters goes through a pinned block each, which a caching allocator keeps for
/// ever: of weights in host memory, pinned in powers of two.
void hold_initialisation_blocks(HeldMemory& held, const Job& job);

}  // namespace spillway::strategies
