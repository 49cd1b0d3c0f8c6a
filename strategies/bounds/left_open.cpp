#include "strategies/bounds/left_open.hpp"

#include "strategies/layout/fates.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::ActivationPolicy;

namespace {

void drop_storages(PhaseDemand& phase) {
  std::fill(phase.storages.begin(), phase.storages.end(), StorageDemand{});
}

void leave_out(RankDemand& rank, const LeftOpen& open) {
  const double products = rank.flops - rank.recompute_flops;
  if (open.placement) rank = {};
  if (!open.placement && !open.recomputation) return;
  rank.flops = products;
  rank.recompute_flops = rank.pass_bytes = rank.other_bytes = 0;
  rank.kernels = 0;
}

}  // namespace

LeftOpen left_open(const description::Strategy& strategy) {
  const description::OptimizerPart& optimizer = strategy.optimizer;
  const bool planned = strategy.activations.policy == ActivationPolicy::plan;
  const bool fates = activation_planner(strategy).has_value();
  return {strategy.activations.policy == ActivationPolicy::swap || fates,
          optimizer.home == description::Home::ssd && (!optimizer.buffers || !optimizer.host_cache),
          (planned && !fates) || optimizer.staleness == description::any_staleness};
}

void leave_out(Demand& demand, const LeftOpen& open) {
  for (PhaseDemand& phase : demand.phases) {
    for (RankDemand& rank : phase.ranks) leave_out(rank, open);
    if (open.states || open.placement) drop_storages(phase);
    if (!open.placement) continue;
    phase.cpu_elements = {};
    phase.cpu_traffic = {};
    phase.host_copies = 0;
  }
}

}  // namespace spillway::strategies
