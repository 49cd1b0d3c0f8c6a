#include "strategies/machine/collectives.hpp"

#include <algorithm>
#include <bit>

namespace spillway::strategies {

namespace {

/// The bytes that each member sends, divided among its neighbour and the next node.
CollectiveCost divided(std::uint64_t bytes, std::uint64_t local, std::uint64_t nodes,
                       std::uint64_t hops) {
  const std::uint64_t to_node = nodes > 1 ? bytes / local : 0;
  return {hops, bytes - to_node, to_node};
}

CollectiveCost ring(Collective what, std::uint64_t bytes, std::uint64_t local,
                    std::uint64_t nodes) {
  const std::uint64_t size = local * nodes;
  const std::uint64_t once = bytes / size * (size - 1) + bytes % size * (size - 1) / size;
  const std::uint64_t passes = what == Collective::all_reduce ? 2 : 1;
  return divided(passes * once, local, nodes, passes * (size - 1));
}

CollectiveCost direct(std::uint64_t bytes, std::uint64_t local, std::uint64_t nodes) {
  const std::uint64_t size = local * nodes;
  const auto parts = [&](std::uint64_t members) {
    return bytes / size * members + bytes % size * members / size;
  };
  return {1, parts(local - 1), parts(local * (nodes - 1))};
}

CollectiveCost tree(std::uint64_t bytes, std::uint64_t local, std::uint64_t nodes) {
  const auto depth = static_cast<std::uint64_t>(std::bit_width(nodes - 1));
  return divided(2 * bytes, local, nodes, 2 * (local - 1 + depth));
}

double seconds(const CollectiveCost& cost, const Topology& topology) {
  const double peer = static_cast<double>(cost.to_peer) / topology.peer_rate.value();
  const double node = static_cast<double>(cost.to_node) / topology.network_rate.value();
  return static_cast<double>(cost.hops) * topology.network_latency.value() + std::max(peer, node);
}

}  // namespace

CollectiveCost collective_cost(Collective what, std::uint64_t bytes, Group group,
                               const Topology& topology) {
  const std::uint64_t local = topology.local_size(group);
  const std::uint64_t nodes = topology.size(group) / local;
  if (local * nodes == 1) return {};
  if (what == Collective::all_to_all) return direct(bytes, local, nodes);
  if (what == Collective::ring_shift) return divided(bytes, local, nodes, 1);
  const CollectiveCost in_ring = ring(what, bytes, local, nodes);
  // inside one node NCCL's tree is a chain: as many hops as the ring, and more bytes
  if (what != Collective::all_reduce || nodes == 1) return in_ring;
  const CollectiveCost in_tree = tree(bytes, local, nodes);
  return seconds(in_tree, topology) < seconds(in_ring, topology) ? in_tree : in_ring;
}

}  // namespace spillway::strategies
