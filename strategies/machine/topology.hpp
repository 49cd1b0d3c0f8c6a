#pragma once

#include "scenarios/description/units.hpp"
#include "strategies/memory/ids.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::strategies {

/// A storage as one node sees it: of a file system that the nodes in use share, its share.
struct StorageInfo {
  std::string name;
  std::uint64_t drives = 1;
  description::Bytes capacity;              ///< of the array; 0: unlimited
  description::BytesPerSecond read, write;  ///< of the array, nominal
  bool wears = false;                       ///< kind ssd
  std::vector<std::uint64_t> gpus{};        ///< only these GPUs of the node reach it; empty: all
  std::uint32_t node = 0;                   ///< whose ranks use it
};

/// Bytes of a request or extent that one storage holds.
struct StoragePiece {
  StorageId storage;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> drive{};  ///< that holds them all; none: equal parts on each
};

/// Several storages used as one: each holds a part of every extent that fits its rates.
struct Stripe {
  StorageInfo info;  ///< of all members together
  std::vector<StorageId> members;
  std::vector<double> ends;  ///< running sum of the members' shares; the last is 1
};

/// What a strategy may know of the machine: shape and nominal rates. No clock, no vendor.
struct Topology {
  std::uint32_t ranks = 1;           ///< of all simulated nodes
  std::uint32_t ranks_per_node = 0;  ///< the last node may have fewer; 0: one node has all
  std::uint32_t nodes = 1;  ///< equal ones that each simulated node stands for, itself among them
  /// Equal ranks of its node that each simulated one stands for, itself among them.
  std::uint32_t alike = 1;
  /// What processes and the run-time library take of a node's memory, where one rank stands for
  /// several: it does not hold that itself, as those of a node's first rank differ.
  description::Bytes bases{};
  std::vector<StorageInfo> storages;  ///< those of the machine file, once for each simulated node
  std::vector<Stripe> stripes;
  std::vector<StorageId> homes;            ///< by rank, for home()
  std::vector<std::vector<Rank>> groups;   ///< simulated members in rank order; group 0: all
  std::vector<std::uint64_t> members;      ///< by group: all on a node; absent: those simulated
  std::vector<std::uint64_t> group_nodes;  ///< by group: equal nodes that have as many; absent: 1
  description::Bytes gpu_memory, host_memory;
  description::BytesPerSecond h2d, d2h;
  description::BytesPerSecond peer_rate;     ///< from GPU to GPU inside the node, each way
  description::BytesPerSecond network_rate;  ///< of a GPU to other nodes, each way
  description::Seconds network_latency;      ///< of a hop of a collective, inside and outside
  std::uint64_t storage_alignment =
      description::storage_sector;    ///< of ranges: offset and length, bytes
  std::uint64_t view_alignment = 64;  ///< of view offsets, bytes
  bool gpudirect = false;
  bool one_memory = false;  ///< what is on a GPU takes room of host_memory

  Group world() const { return Group{0}; }
  std::uint32_t node_of(Rank rank) const {
    return ranks_per_node == 0 ? 0 : rank.index / ranks_per_node;
  }
  std::uint32_t simulated_nodes() const { return node_of(Rank{ranks - 1}) + 1; }
  /// Simulated ranks of that node.
  std::uint32_t ranks_of(std::uint32_t node) const;
  /// The first simulated one of its node.
  bool is_first(Rank rank) const {
    return rank.index == 0 || node_of(rank) != node_of(Rank{rank.index - 1});
  }
  /// Members on a node; on all nodes.
  std::uint64_t local_size(Group group) const {
    return group.index < members.size() ? members[group.index] : groups[group.index].size();
  }
  std::uint64_t size(Group group) const;
  /// "nvme", and where several nodes have one each "node 1 nvme".
  std::string title(StorageId storage) const;
  /// Storages in file order, node by node, that wear, i.e. drives (not remote ones).
  std::vector<StorageId> drives() const;
  /// The drives among them that `rank` reaches: its node's; private arrays belong to their GPUs.
  std::vector<StorageId> drives(Rank rank) const;

  /// Where the extents of `rank` go unless a knob says otherwise: all drives that it reaches, as
  /// one stripe. Ranks that reach the same ones share the stripe.
  ///   Result  a storage, or a stripe: its index follows those of the storages
  ///   Throws  InternalError when it reaches none
  StorageId home(Rank rank) const;
  /// Of a storage or a stripe.
  const StorageInfo& info(StorageId id) const;

  bool is_stripe(StorageId id) const { return id.index >= storages.size(); }
  /// Calls visit(StoragePiece) for what each storage gets of `bytes`, those that get nothing left
  /// out. Pieces of whole sectors add up to it; a stripe's are in proportion to its members' rates.
  template <class Visit>
  void each_piece(StorageId id, std::uint64_t bytes, Visit visit) const {
    if (!is_stripe(id)) return visit(StoragePiece{id, bytes});
    const Stripe& stripe = stripes[id.index - storages.size()];
    const std::uint64_t sectors = bytes / storage_alignment;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < stripe.members.size(); ++i) {
      const bool last = i + 1 == stripe.members.size();
      const std::uint64_t end =
          last ? bytes
               : static_cast<std::uint64_t>(static_cast<double>(sectors) * stripe.ends[i]) *
                     storage_alignment;
      if (end > before || (last && bytes == 0))
        visit(StoragePiece{stripe.members[i], end - before});
      before = end;
    }
  }
};

/// Fills `homes` and `stripes` from the storages.
///   Shares  in proportion to 1 / (1/read + 1/write), the rate at which a member reads a byte and
///           writes it back: where the members' rates have one ratio, the stripe's rates are sums
void find_homes(Topology& topology);

}  // namespace spillway::strategies
