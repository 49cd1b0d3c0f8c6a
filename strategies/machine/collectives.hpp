#pragma once

#include "strategies/machine/kernel.hpp"
#include "strategies/machine/topology.hpp"

namespace spillway::strategies {

/// What one member of a group does in a collective; all do the same.
struct CollectiveCost {
  std::uint64_t hops = 0;     ///< one after the other, each takes the network's latency
  std::uint64_t to_peer = 0;  ///< bytes to the next GPU of its node
  std::uint64_t to_node = 0;  ///< bytes to the next node

  std::uint64_t sent() const { return to_peer + to_node; }
};

/// The cheaper of ring and tree at the topology's nominal rates; an all-to-all and a shift are
/// neither.
///   bytes   of the whole (see Collective), n; G members, L of them on each of N nodes
///   ring    every member passes on what it gets: n (G-1)/G in G-1 hops to gather or to reduce and
///           scatter, both one after the other to all-reduce
///   tree    all-reduce only: a chain inside each node, a double binary tree across nodes. 2 n in
///           2 (L-1 + ceil(log2 N)) hops
///   all-to-all     every member sends each other one its part, n / G, at once: in one hop
///   shift          every member sends the next one n, in one hop
///   across nodes   L rings (or trees), each leaves the node through another member's NIC: a member
///           sends 1/L of its bytes to the next node and the rest to its neighbour
///   Source  NCCL, src/graph/tuning.cc (steps of ring and tree, choice by estimated time) and its
///           maintainers (issues 457, 530, 919: bytes, flat rings over all NICs, chain in a node);
///           Thakur et al., "Optimization of Collective Communication Operations in MPICH", 2005;
///           Sanders et al., "Two-tree algorithms", 2009
CollectiveCost collective_cost(Collective what, std::uint64_t bytes, Group group,
                               const Topology& topology);

}  // namespace spillway::strategies
