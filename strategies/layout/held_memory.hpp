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
/// Of precision fp8: 8-bit copies of weights that stay on the GPU, frozen ones too, with transposed
/// copies where their layer has a backward; and of each matrix scales and the latest maxima of what
/// is multiplied: weight, input, output and both gradients.
///   Source  Transformer Engine, DelayedScaling(amax_history_len=1024), fp8_meta of a module
void hold_fp8(HeldMemory& held, const Job& job);
/// Where a process of its own updates (optimizer.roll_back): pinned memory gives it a context on
/// the GPU.
///   Source  DeepSpeed superoffload_utils.py, superoffload_optimizer_worker; PyTorch's host
///           allocator, cudaHostAlloc
void hold_update_process(HeldMemory& held, const Job& job);
/// Beside an update in shared memory (updates_in_shared_memory): of each trained parameter 4 bytes
/// of the master as the last update left it, from which new weights are made, and a second pair of
/// fp32 moments, as the update alternates between two; the pinned blocks that masters and one of
/// the two gradients lay in until they were shared, which the allocator keeps.
///   Source  DeepSpeed zenflow_utils.py, start_optimizer_process (stale_param, share_memory_),
///           zenflow_optimizer_process (exp_avg0, exp_avg1); zenflow_stage_1_and_2.py,
///           initialize_optimizer_states
void hold_shared_update(HeldMemory& held, const Job& job);
/// Casting the parameters goes through a pinned block each, which a caching allocator keeps for
/// ever: of weights in host memory, pinned in powers of two.
void hold_initialisation_blocks(HeldMemory& held, const Job& job);

}  // namespace spillway::strategies
