#include "strategies/layout/planned_settings.hpp"

#include "scenarios/description/mixed_traffic.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

using planner::Destination;

void add_array(planner::Channels& channels, const description::Scenario& scenario,
               const Topology& topology, Rank rank) {
  const StorageId home = topology.home(rank);
  const StorageInfo& info = topology.info(home);
  const double share = process_share(scenario, topology, rank);
  channels.ssd_read = info.read.value() * share;
  channels.ssd_write = info.write.value() * share;
  channels.mixed_efficiency = description::most_mixed_efficiency;
  for (const auto& storage : scenario.machine.storage) {
    // what goes out comes back: each way takes as long as the other's rate is high
    const double read = storage.total_read().value(), write = storage.total_write().value();
    const double reads_share = write / (read + write);
    channels.mixed_efficiency =
        std::min(channels.mixed_efficiency,
                 description::efficiency_of_mix(storage.mixed_efficiency, reads_share));
    channels.ssd_latency_s = std::max(channels.ssd_latency_s, storage.latency.value());
  }
}

std::vector<Destination> destinations_of(const PlanKnobs& knobs) {
  std::vector<Destination> all;
  for (const description::PlanDestination one : knobs.destinations)
    all.push_back(one == description::PlanDestination::ssd ? Destination::ssd : Destination::host);
  return all;
}

}  // namespace

double process_share(const description::Scenario& scenario, const Topology& topology, Rank rank) {
  double share = 1;
  for (const auto& storage : scenario.machine.storage)
    share = std::min(share, storage.share_of(scenario.strategy.io_engine));
  const StorageId home = topology.home(rank);
  const auto users = std::count(topology.homes.begin(), topology.homes.end(), home);
  return share / static_cast<double>(users);
}

bool overlaps_update(const description::Strategy& strategy) {
  return strategy.optimizer.overlap == description::UpdateOverlap::backward;
}

bool bounces(const description::Scenario& scenario) {
  return scenario.strategy.io_engine != description::IoEngine::gds ||
         !scenario.machine.gpu.gpudirect;
}

bool link_is_short(const planner::Channels& channels) {
  return channels.link_out.value_or(channels.ssd_write) < channels.ssd_write ||
         channels.link_in.value_or(channels.ssd_read) < channels.ssd_read;
}

namespace {
/// What a node with so many ranks holds in host memory beside the tensors of its plans.
std::uint64_t beside_plans(const description::Scenario& scenario, std::uint64_t ranks) {
  const description::HostSpec& host = scenario.machine.host;
  std::uint64_t base = host.runtime_base.value() + host.process_base.value() +
                       (ranks - 1) * host.process_base_next.value();
  if (bounces(scenario)) base += ranks * 4 * plan_knobs(scenario.strategy).chunk.value();
  return base;
}
}  // namespace

description::Bytes gpu_memory_for(std::uint64_t capacity, const description::Scenario& scenario) {
  const double own =
      static_cast<double>(capacity) + static_cast<double>(scenario.machine.gpu.context.value());
  return description::Bytes(
      static_cast<std::uint64_t>(std::ceil(own / (1 - plan_knobs(scenario.strategy).headroom))));
}

description::Bytes host_memory_for(std::uint64_t limit, const description::Scenario& scenario,
                                   const Topology& topology, Rank rank) {
  const std::uint64_t ranks = topology.ranks_of(topology.node_of(rank));
  return description::Bytes(limit * ranks + beside_plans(scenario, ranks));
}

planner::PlanSettings plan_settings(const description::Scenario& scenario, const Topology& topology,
                                    Rank rank) {
  const PlanKnobs knobs = plan_knobs(scenario.strategy);
  const description::MachineFile& machine = scenario.machine;
  planner::PlanSettings settings;
  if (scenario.strategy.activations.policy == description::ActivationPolicy::plan)
    settings.destinations = destinations_of(knobs);
  if (topology.storages.empty()) std::erase(settings.destinations, Destination::ssd);
  settings.min_tensor = std::max<std::uint64_t>(1, knobs.min_tensor.value());
  settings.saturation = knobs.saturation == description::PlanSaturation::ideal_finish
                            ? planner::Saturation::ideal_finish
                            : planner::Saturation::no_window;
  settings.eager_prefetch = knobs.eager_prefetch;
  settings.drop_clean = knobs.drop_clean;
  settings.must_hide = knobs.must_hide;
  settings.urgent = knobs.urgent;
  settings.stall_rounds = static_cast<std::uint32_t>(knobs.stall_rounds);
  const auto own = static_cast<double>(topology.gpu_memory.value()) * (1 - knobs.headroom) -
                   static_cast<double>(machine.gpu.context.value());
  settings.capacity = topology.gpu_memory.value() == 0
                          ? std::uint64_t{1} << 60
                          : static_cast<std::uint64_t>(std::max(own, 0.0));
  planner::Channels& channels = settings.channels;
  channels.host_out = machine.pcie.d2h.value();
  channels.host_in = machine.pcie.h2d.value();
  channels.host_latency_s = machine.pcie.latency.value();
  // drives and host share the GPU's slot: one cap each way, or what copies reach
  channels.link_out = machine.pcie.link.value_or(machine.pcie.d2h).value();
  channels.link_in = machine.pcie.link.value_or(machine.pcie.h2d).value();
  const auto ssd =
      std::find(settings.destinations.begin(), settings.destinations.end(), Destination::ssd);
  if (ssd != settings.destinations.end()) add_array(channels, scenario, topology, rank);
  if (bounces(scenario)) {
    channels.link_out = std::min(*channels.link_out, channels.host_out);
    channels.link_in = std::min(*channels.link_in, channels.host_in);
  }
  const std::uint64_t memory = topology.host_memory.value();
  const std::uint64_t ranks = topology.ranks_of(topology.node_of(rank));
  const std::uint64_t base = beside_plans(scenario, ranks);
  if (memory) settings.host_limit = (memory - std::min(memory, base)) / ranks;
  if (knobs.host_limit)
    settings.host_limit =
        std::min(settings.host_limit.value_or(*knobs.host_limit), *knobs.host_limit / ranks);
  return settings;
}

}  // namespace spillway::strategies
