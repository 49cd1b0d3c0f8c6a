#include "strategies/run/nodes.hpp"

#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

std::uint64_t of_a_step(std::uint64_t sum, double steps) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(sum) / steps));
}

}  // namespace

void note_nodes(const description::Scenario& scenario, const Topology& topology,
                result::Result& result) {
  const std::uint64_t nodes = scenario.nodes_in_use(), simulated = topology.simulated_nodes();
  if (nodes == 1) return;
  const text::Text gpus = text::count(scenario.node_ranks());
  const auto& storages = scenario.machine.storage;
  const bool share = std::any_of(storages.begin(), storages.end(), [](const auto& storage) {
    return storage.shared_by_nodes && storage.kind == description::StorageKind::ssd;
  });
  if (simulated == 1)
    result.notes.push_back(
        text::filled("{} equal nodes of {} GPUs: one is simulated and stands for all. Memory{} "
                     "are those of one node{}",
                     {text::count(nodes), gpus, share ? " and traffic" : ", traffic and wear",
                      share ? ", wear is that of the drives that they share" : ""}));
  else
    result.notes.push_back(
        text::filled("stages on {} nodes of {} GPUs, of which {} are simulated{}. Memory is that "
                     "of the node that needs most, traffic the mean of a node{}",
                     {text::count(nodes), gpus, text::count(simulated),
                      simulated < nodes ? ": others are equal to them" : "",
                      share ? ", wear that of the drives that they share" : ""}));
}

void add_nodes(Machine& machine, const description::Scenario& scenario, const StepRecord& all,
               double steps, result::Result& result) {
  const Topology& topology = machine.topology();
  if (topology.simulated_nodes() == 1) return;
  const auto& placed = machine.recorder().steps().front().by_storage;
  for (std::uint32_t node = 0; node < topology.simulated_nodes(); ++node) {
    const StagesOfNode stages = stages_of_node(scenario, node);
    result::NodeUse& use = result.nodes.emplace_back();
    use.first_stage = stages.first;
    use.last_stage = stages.last;
    use.nodes = topology.nodes;
    use.host_peak_bytes =
        machine.peak_on_node(machine.host_tier(Rank{node * topology.ranks_per_node}));
    for (std::uint32_t i = 0; i < topology.storages.size(); ++i) {
      const StorageInfo& storage = topology.storages[i];
      if (storage.node != node) continue;
      if (storage.wears)
        use.ssd_peak_bytes += machine.peak_on_node(machine.storage_tier(StorageId{i}));
      use.storage[storage.name] = {of_a_step(all.by_storage[i].read, steps),
                                   of_a_step(all.by_storage[i].write, steps), placed[i].write};
    }
  }
}

}  // namespace spillway::strategies
