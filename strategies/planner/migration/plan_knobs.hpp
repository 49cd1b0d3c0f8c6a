#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/planner/migration/planner.hpp"

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

}  // namespace spillway::strategies
