#include "strategies/planner/migration/plan_knobs.hpp"

namespace spillway::strategies {

using planner::Destination;

PlanKnobs plan_knobs(const description::Strategy& strategy) {
  const description::PlanPart& said = strategy.plan;
  PlanKnobs knobs;
  if (said.destinations) {
    knobs.destinations.clear();
    for (const description::PlanDestination one : *said.destinations)
      knobs.destinations.push_back(one == description::PlanDestination::ssd ? Destination::ssd
                                                                            : Destination::host);
  }
  if (said.host_limit && said.host_limit->value) knobs.host_limit = said.host_limit->value->value();
  knobs.headroom = said.headroom.value_or(knobs.headroom);
  if (said.saturation == description::PlanSaturation::ideal_finish)
    knobs.saturation = planner::Saturation::ideal_finish;
  knobs.must_hide = said.must_hide.value_or(knobs.must_hide);
  knobs.urgent = said.urgent.value_or(knobs.urgent);
  knobs.drop_clean = said.drop_clean.value_or(knobs.drop_clean);
  knobs.eager_prefetch = said.eager_prefetch.value_or(knobs.eager_prefetch);
  knobs.min_tensor = said.min_tensor.value_or(description::Bytes(knobs.min_tensor)).value();
  knobs.chunk = said.chunk.value_or(description::Bytes(knobs.chunk)).value();
  knobs.stall_rounds = static_cast<std::uint32_t>(said.stall_rounds.value_or(knobs.stall_rounds));
  if (said.migration_rate && said.migration_rate->value)
    knobs.migration_rate = said.migration_rate->value->value();
  return knobs;
}

void set_plan_defaults(description::Strategy& strategy) {
  const PlanKnobs knobs;
  description::PlanPart& part = strategy.plan;
  part.destinations = {description::PlanDestination::ssd, description::PlanDestination::host};
  part.host_limit.emplace();
  part.headroom = knobs.headroom;
  part.saturation = description::PlanSaturation::no_window;
  part.must_hide = knobs.must_hide;
  part.urgent = knobs.urgent;
  part.drop_clean = knobs.drop_clean;
  part.eager_prefetch = knobs.eager_prefetch;
  part.min_tensor = description::Bytes(knobs.min_tensor);
  part.chunk = description::Bytes(knobs.chunk);
  part.stall_rounds = knobs.stall_rounds;
  part.migration_rate.emplace();
}

}  // namespace spillway::strategies
