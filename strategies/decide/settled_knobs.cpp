#include "strategies/decide/settled_knobs.hpp"

#include "strategies/layout/buffers.hpp"
#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/layout/chunk_layout.hpp"
#include "strategies/layout/landing.hpp"
#include "strategies/layout/nominal_cache.hpp"
#include "strategies/layout/placement.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

namespace {

using description::Home;
using description::Strategy;

bool states_on_storage(const Strategy& strategy) {
  return strategy.optimizer.home == Home::ssd &&
         strategy.optimizer.device != description::OptimizerDevice::gpu;
}

void settle_pinned(Strategy& strategy) {
  if (strategy.weights.home != Home::gpu && !strategy.weights.pinned)
    strategy.weights.pinned = strategy.pinned;
  description::GradientsPart& gradients = strategy.gradients;
  // where copies are pageable, a written `exact` says that the memory is not pinned at all
  const bool says_more = gradients.d2h == description::CopyMemory::pageable &&
                         strategy.pinned == description::PinnedPolicy::exact;
  if (gradients.policy != description::GradientPolicy::resident && !gradients.pinned && !says_more)
    gradients.pinned = strategy.pinned;
}

void settle_lands(description::Scenario& scenario) {
  if (scenario.strategy.gradients.policy == description::GradientPolicy::resident) return;
  scenario.strategy.gradients.lands =
      lands_in_states(scenario) ? description::Landing::states : description::Landing::flat;
}

void settle_collective(description::Scenario& scenario) {
  using enum description::GradientCollective;
  if (scenario.parallel.replicas() == 1) return;
  scenario.strategy.gradients.collective =
      scatters_gradients(scenario) ? reduce_scatter : all_reduce;
}

void settle_sums(description::Scenario& scenario) {
  if (scenario.strategy.gradients.policy != description::GradientPolicy::resident) return;
  scenario.strategy.gradients.sums = sums_at_end(scenario) ? description::GradientSums::at_end
                                                           : description::GradientSums::by_layer;
}

bool has_pool_to_settle(const description::WeightsPart& weights) {
  return weights.home == Home::ssd && has_equal_buffers(weights.pool) &&
         !(weights.buffer_count && weights.buffer_size);
}

bool has_chunk_to_settle(const Strategy& strategy) {
  return chunk_knobs(strategy).used && !chunk_knobs(strategy).elements;
}

bool has_swap_buffers_to_settle(const Strategy& strategy) {
  return states_on_storage(strategy) &&
         !(strategy.optimizer.buffers && strategy.optimizer.host_cache);
}

/// What depends on the sizes of weights and sub-groups.
void settle_sizes(const Job& job, Strategy& strategy) {
  if (has_pool_to_settle(strategy.weights)) {
    const EqualBuffers buffers = equal_buffers(job);
    strategy.weights.buffer_count = buffers.count;
    strategy.weights.buffer_size = description::Params(buffers.elements);
  }
  if (has_chunk_to_settle(strategy))
    strategy.weights.chunk = {description::Params(chunk_layout(job, WeightLayout(job)).elements *
                                                  partition_of(job.scenario).weight_ways())};
  if (has_swap_buffers_to_settle(strategy)) {
    const std::uint64_t paths = std::max<std::size_t>(1, strategy.optimizer.paths.size());
    const SwapBuffers buffers = swap_buffers(job, paths);
    strategy.optimizer.buffers = buffers.each;
    strategy.optimizer.host_cache = buffers.host_cache();
  }
}

/// Of what is decided already.
std::vector<std::size_t> first_cached_modules(const Decided& all) {
  std::vector<std::size_t> modules;
  if (!all.fates.by_module || all.scenario.strategy.activations.swap_bytes) return modules;
  const Decision decision(all);
  const std::deque<Job> jobs = jobs_of(decision);
  const Topology topology = setup_for(all.scenario, false, false).topology;
  for (std::uint32_t rank = 0; rank < topology.ranks; ++rank)
    modules.push_back(
        nominal_modules_to_offload(job_of(jobs, Rank{rank}, topology.ranks), topology, Rank{rank}));
  return modules;
}

}  // namespace

void settle_knobs(Decided& all) {
  Strategy& strategy = all.scenario.strategy;
  if (plans_steps(strategy.system)) return;
  settle_lands(all.scenario);
  settle_collective(all.scenario);
  settle_sums(all.scenario);
  settle_pinned(strategy);
  if (has_pool_to_settle(strategy.weights) || has_chunk_to_settle(strategy) ||
      has_swap_buffers_to_settle(strategy))
    settle_sizes(Job(all.scenario, *all.prepared, all.tensors.front(), all.fates), strategy);
  all.cached_modules = first_cached_modules(all);
}

std::map<std::string, double> first_shares(const description::Scenario& scenario) {
  std::map<std::string, double> shares;
  if (!states_on_storage(scenario.strategy)) return shares;
  const auto& paths = scenario.strategy.optimizer.paths;
  for (const StorageInfo& storage : setup_for(scenario, false, false).topology.storages)
    if (const auto named = paths.find(storage.name); named != paths.end() && !named->second)
      shares[storage.name] = nominal_share(storage);
  return shares;
}

}  // namespace spillway::strategies
