#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/planner/migration/planner.hpp"

namespace spillway::strategies {

/// The knobs of `strategy.plan`, which the planned systems read. The initial values are those of a
/// scenario and a system that say nothing.
struct PlanKnobs {
  std::vector<description::PlanDestination> destinations = {description::PlanDestination::ssd,
                                                            description::PlanDestination::host};
  std::optional<std::uint64_t> host_limit;  ///< bytes of a node; none: its memory ("auto")
  double headroom = 0.01;
  description::PlanSaturation saturation = description::PlanSaturation::no_window;
  bool must_hide = false;
  bool urgent = true, drop_clean = false, eager_prefetch = false;
  description::Bytes min_tensor = description::Bytes(1u << 20);
  description::Bytes chunk = description::Bytes(16u << 20);
  std::uint64_t stall_rounds = 8;
  std::optional<double> migration_rate;  ///< bytes/s; none: the machine's
};

PlanKnobs plan_knobs(const description::Strategy& strategy);

/// Says all of them in the strategy of a system that plans whole steps.
void set_plan_defaults(description::Strategy& strategy);

}  // namespace spillway::strategies
