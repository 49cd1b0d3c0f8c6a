#include "strategies/layout/nominal_cache.hpp"

#include "strategies/layout/module_plan.hpp"
#include "strategies/layout/planned_settings.hpp"
#include "strategies/machine/kernel_time.hpp"
#include "strategies/planner/saved/cache_budget.hpp"

namespace spillway::strategies {

namespace {

/// Of one rank; bytes per second.
double nominal_store_rate(const description::Scenario& scenario, const Topology& topology,
                          Rank rank) {
  const CacheKnobs knobs = cache_knobs(scenario.strategy);
  if (knobs.write_rate && knobs.write_rate->value() > 0) return knobs.write_rate->value();
  if (knobs.to_host) return scenario.machine.pcie.d2h.value();
  return topology.info(topology.home(rank)).write.value() * process_share(scenario, topology, rank);
}

}  // namespace

std::size_t nominal_modules_to_offload(const Job& job, const Topology& topology, Rank rank) {
  if (job.plans.moved.empty()) return 0;
  const std::vector<Module>& modules = job.plans.modules;
  std::vector<double> seconds(modules.size(), 0);
  for (const LayerPlan& layer : job.plans.layers)
    for (const PassPlan::Segment& segment : layer.forward.segments)
      for (const PlannedKernel& kernel : segment.kernels)
        seconds[segment.module] += kernel_seconds(kernel_of_pass(*kernel.operation), job.scenario);
  double forward_s = 0;
  std::vector<ModuleLoad> candidates;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    forward_s += seconds[i];
    if (modules[i].in_block) candidates.push_back({seconds[i], saved_bytes(job.plans, modules[i])});
  }
  return modules_to_offload(candidates, forward_s,
                            nominal_store_rate(job.scenario, topology, rank));
}

}  // namespace spillway::strategies
