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
  for (const auto member :
       {&RankDemand::flops, &RankDemand::pass_bytes, &RankDemand::other_bytes,
        &RankDemand::update_bytes, &RankDemand::updated, &RankDemand::side_bytes})
    keep_less(least.*member, other.*member);
  least.recompute_flops = std::max(least.recompute_flops, other.recompute_flops);
  for (const auto member :
       {&RankDemand::kernels, &RankDemand::side_kernels, &RankDemand::h2d, &RankDemand::d2h,
        &RankDemand::pageable_h2d, &RankDemand::pageable_d2h, &RankDemand::gpu_copies,
        &RankDemand::collectives, &RankDemand::sent, &RankDemand::to_peers, &RankDemand::to_nodes,
        &RankDemand::handed_to_nodes})
    keep_less(least.*member, other.*member);
}

void keep_least(PhaseDemand& least, const PhaseDemand& other) {
  for (std::size_t i = 0; i < least.ranks.size(); ++i) keep_least(least.ranks[i], other.ranks[i]);
  for (std::size_t i = 0; i < least.storages.size(); ++i)
    for (const auto member : {&StorageDemand::reads, &StorageDemand::writes, &StorageDemand::read,
                              &StorageDemand::written, &StorageDemand::inside_read,
                              &StorageDemand::inside_written, &StorageDemand::elements})
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
