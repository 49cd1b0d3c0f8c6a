#pragma once

#include "strategies/machine/topology.hpp"
#include "strategies/planner/migration/plan_knobs.hpp"

namespace spillway::strategies {

/// Share of its home's rates that one rank has where all that use it are busy, by `io_engine`.
double process_share(const description::Scenario& scenario, const Topology& topology, Rank rank);

/// What the planner of `rank` may use: its share of its array, its link, its share of the host.
planner::PlanSettings plan_settings(const description::Scenario& scenario, const Topology& topology,
                                    Rank rank);

/// GPU memory, reserve not counted, of which plan_settings makes `capacity` bytes for tensors.
description::Bytes gpu_memory_for(std::uint64_t capacity, const description::Scenario& scenario);
/// The same of a node's host memory, for `limit` bytes a rank.
description::Bytes host_memory_for(std::uint64_t limit, const description::Scenario& scenario,
                                   const Topology& topology, Rank rank);

/// A weight is updated as soon as backward has done with it (`optimizer.overlap` backward).
bool overlaps_update(const description::Strategy& strategy);

/// An SSD is reached through pinned buffers: no GPUDirect.
bool bounces(const description::Scenario& scenario);

/// One way over the GPU's link is slower than the array's, which only both ways fill then.
bool link_is_short(const planner::Channels& channels);

}  // namespace spillway::strategies
