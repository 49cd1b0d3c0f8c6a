#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// The buffers of a rank that weights on storage pass, where all are of one size.
struct EqualBuffers {
  std::uint64_t count = 0;     ///< `weights.buffer_count`; auto: as `prefetch_blocks` needs
  std::uint64_t elements = 0;  ///< `weights.buffer_size`, of one; auto: the largest share
  std::uint64_t bytes = 0;     ///< of one
};
EqualBuffers equal_buffers(const Job& job);

/// Buffers that a sub-group on storage takes: one for each state, and one for its gradients where
/// these lie there too.
std::uint64_t buffers_of_a_set(const description::Scenario& scenario);

/// The sub-group's states lie on storage: home ssd, and it is not too small.
bool is_swapped(const Job& job, const Subgroup& group);

/// Bytes of the sub-group's largest state, or of its fp32 gradients where those pass the same
/// buffers.
std::uint64_t largest_state_bytes(const Job& job, const Subgroup& group);

/// The pinned buffers of a rank that its optimizer states on storage pass.
struct SwapBuffers {
  std::uint64_t each = 0;   ///< `optimizer.buffers`, of one path; auto: three sub-groups, or all
  std::uint64_t bytes = 0;  ///< of one: a state of the largest sub-group
  /// Sub-groups that stay in them from one update to the next, of all paths: as many as they and
  /// `optimizer.host_cache` hold; none where each would be thrown out before its turn.
  std::uint64_t most_kept = 0;
  std::uint64_t states = 3;  ///< of a sub-group, its masters included

  /// `optimizer.host_cache` that keeps so many.
  Bytes host_cache() const { return Bytes(most_kept * states * bytes); }
};
/// Buffers of a path with which all sub-groups of a rank, so many, have theirs at once: more are
/// never used, but a pipelined update is only asked for with two sets.
std::uint64_t most_useful_buffers(const description::Scenario& scenario,
                                  std::uint64_t subgroups_of_a_rank, std::uint64_t paths);

///   paths  storages that hold states, or 1 for a stripe
SwapBuffers swap_buffers(const Job& job, std::uint64_t paths);

}  // namespace spillway::strategies
