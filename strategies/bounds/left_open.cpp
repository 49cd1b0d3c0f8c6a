#include "strategies/bounds/left_open.hpp"

#include "strategies/layout/fates.hpp"

#include <algorithm>

namespace spillway::strategies {

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
  return left_open(strategy.activations.policy, activation_planner(strategy).has_value()) |
         left_open(strategy.optimizer);
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
