#include "strategies/planner/migration/plan_knobs.hpp"

namespace spillway::strategies {

namespace {

/// Calls `visit(knob, said)` for each knob that has a value and what a strategy says of it.
template <class Knobs, class Part, class Visit>
void each_plan_knob(Knobs& knobs, Part& part, Visit visit) {
  visit(knobs.destinations, part.destinations);
  visit(knobs.headroom, part.headroom);
  visit(knobs.saturation, part.saturation);
  visit(knobs.must_hide, part.must_hide);
  visit(knobs.urgent, part.urgent);
  visit(knobs.drop_clean, part.drop_clean);
  visit(knobs.eager_prefetch, part.eager_prefetch);
  visit(knobs.min_tensor, part.min_tensor);
  visit(knobs.chunk, part.chunk);
  visit(knobs.stall_rounds, part.stall_rounds);
}

}  // namespace

PlanKnobs plan_knobs(const description::Strategy& strategy) {
  const description::PlanPart& part = strategy.plan;
  PlanKnobs knobs;
  each_plan_knob(knobs, part, [](auto& knob, const auto& said) {
    if (said) knob = *said;
  });
  if (part.host_limit && part.host_limit->value) knobs.host_limit = part.host_limit->value->value();
  if (part.migration_rate && part.migration_rate->value)
    knobs.migration_rate = part.migration_rate->value->value();
  return knobs;
}

void set_plan_defaults(description::Strategy& strategy) {
  const PlanKnobs knobs;
  each_plan_knob(knobs, strategy.plan, [](const auto& knob, auto& said) { said = knob; });
  strategy.plan.host_limit.emplace();
  strategy.plan.migration_rate.emplace();
}

}  // namespace spillway::strategies
