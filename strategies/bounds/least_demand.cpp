#include "strategies/bounds/least_demand.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

template <class Number>
void keep_less(Number& least, const Number& other) {
  least = std::min(least, other);
}

void keep_least(RankDemand& least, const RankDemand& other) {
  const double recomputed = std::max(least.recompute_flops, other.recompute_flops);
  for (const auto member : RankDemand::amounts()) keep_less(least.*member, other.*member);
  for (const auto member : RankDemand::counts()) keep_less(least.*member, other.*member);
  least.recompute_flops = recomputed;  // whose products a planner may spare
}

void keep_least(PhaseDemand& least, const PhaseDemand& other) {
  for (std::size_t i = 0; i < least.ranks.size(); ++i) keep_least(least.ranks[i], other.ranks[i]);
  for (std::size_t i = 0; i < least.storages.size(); ++i)
    for (const auto member : StorageDemand::counts())
      keep_less(least.storages[i].*member, other.storages[i].*member);
  for (std::size_t work = 0; work < cpu_work_count; ++work) {
    keep_less(least.cpu_elements[work], other.cpu_elements[work]);
    keep_less(least.cpu_traffic[work], other.cpu_traffic[work]);
  }
  keep_less(least.host_copies, other.host_copies);
}

}  // namespace

Demand least_step(std::span<const Demand> steps, bool late) {
  if (late) steps = steps.first(steps.size() - 1);
  ENSURE(steps.size() > 2, "a run has a set-up, a warm-up and a step");
  Demand least = steps.back();
  for (std::size_t i = 2; i + 1 < steps.size(); ++i)
    for (std::size_t phase = 0; phase < least.phases.size(); ++phase)
      keep_least(least.phases[phase], steps[i].phases[phase]);
  return least;
}

}  // namespace spillway::strategies
