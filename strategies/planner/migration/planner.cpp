#include "strategies/planner/migration/planner.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/planner/migration/urgent.hpp"
#include "strategies/planner/migration/walk.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies::planner {

namespace {

/// A round that shortens the step by less is the last.
constexpr double worth_a_round = 0.001;

/// The profile's slots, each longer by the wait before the kernel that follows it.
std::vector<std::int64_t> stretched(std::vector<std::int64_t> ticks,
                                    const std::vector<double>& waits_s) {
  for (std::size_t i = 0; i < ticks.size(); ++i)
    ticks[(i + ticks.size() - 1) % ticks.size()] +=
        static_cast<std::int64_t>(std::llround(waits_s[i] * ticks_per_second));
  return ticks;
}

/// Nothing may wait, and the plan does not fit.
void refuse(const Lifetimes& lifetimes, const PlanSettings& settings, Plan& plan) {
  const auto fullest = std::max_element(plan.pressure.begin(), plan.pressure.end());
  plan.shortage =
      shortage_at(lifetimes, static_cast<std::uint32_t>(fullest - plan.pressure.begin()),
                  static_cast<std::int64_t>(*fullest - settings.capacity));
}

}  // namespace

Plan plan_migrations(const Lifetimes& lifetimes, const PlanSettings& settings) {
  ENSURE(faults_of(lifetimes).empty(), "a profile with faults");
  const std::vector<std::int64_t> own = slot_ticks(lifetimes);
  const double ideal = seconds_of(own);
  std::vector<std::int64_t> ticks = own;
  std::optional<Plan> best;
  for (std::uint32_t round = 0; round <= settings.stall_rounds; ++round) {
    Plan plan = plan_greedily(lifetimes, settings, ticks);
    plan.ideal_s = ideal;
    plan.rounds = round;
    if (!plan.fits && settings.urgent) make_room(lifetimes, settings, plan);
    if (!plan.fits && !settings.urgent) refuse(lifetimes, settings, plan);
    if (plan.shortage) {
      if (!best) best = std::move(plan);
      break;
    }
    const Walk walk = walk_plan(lifetimes, settings, plan);
    plan.step_s = walk.step_s;
    plan.ticks = stretched(own, walk.waits_s);
    ticks = plan.ticks;
    const double gain = best ? 1 - plan.step_s / best->step_s : 1;
    const bool waits = plan.step_s > ideal;
    if (gain > 0) best = std::move(plan);
    if (!waits || gain < worth_a_round) break;
  }
  return std::move(*best);
}

}  // namespace spillway::strategies::planner
