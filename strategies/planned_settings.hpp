#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/planner/planner.hpp"
#include "strategies/topology.hpp"

namespace spillway::strategies {

/// The knobs of `strategy.plan`, which the planned systems read. The initial values are those of a
/// scenario and a system that say nothing.
struct PlanKnobs {
  std::vector<planner::Destination> destinations = {planner::Destination::ssd,
                                                    planner::Destination::host};
  std::optional<std::uint64_t> host_limit;  ///< bytes of a node; none: its memory ("auto")
  double headroom = 0.01;
  planner::Saturation saturation = planner::Saturation::no_window;
  bool must_hide = false;
  bool urgent = true, drop_clean = false, eager_prefetch = false;
  std::uint64_t min_tensor = 1u << 20, chunk = 16u << 20;
  std::uint32_t stall_rounds = 8;
  std::optional<double> migration_rate;  ///< bytes/s; none: the machine's
};

PlanKnobs plan_knobs(const description::Strategy& strategy);

/// Says all of them in the strategy of a system that plans whole steps.
void set_plan_defaults(description::Strategy& strategy);

/// What the planner of `rank` may use: its share of its array, its link, its share of the host.
planner::PlanSettings plan_settings(const description::Scenario& scenario, const Topology& topology,
                                    Rank rank);

/// GPU memory, reserve not counted, of which plan_settings makes `capacity` bytes for tensors.
description::Bytes gpu_memory_for(std::uint64_t capacity, const description::Scenario& scenario);
/// The same of a node's host memory, for `limit` bytes a rank.
description::Bytes host_memory_for(std::uint64_t limit, const description::Scenario& scenario,
                                   const Topology& topology);

/// A weight is updated as soon as backward has done with it (`optimizer.overlap` backward).
bool overlaps_update(const description::Strategy& strategy);

/// An SSD is reached through pinned buffers: no GPUDirect.
bool bounces(const description::Scenario& scenario);

}  // namespace spillway::strategies
