#pragma once

#include "scenarios/description/units.hpp"
#include "strategies/ids.hpp"

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
};

/// What a strategy may know of the machine: shape and nominal rates. No clock, no vendor.
struct Topology {
  std::uint32_t ranks = 1;  ///< of the simulated node, which stands for all
  std::uint32_t nodes = 1;  ///< equal ones, itself among them
  std::vector<StorageInfo> storages;
  std::vector<std::vector<Rank>> groups;  ///< members on this node in rank order; group 0: all
  std::vector<bool> spans_nodes;  ///< by group: every node has as many members; absent: false
  description::Bytes gpu_memory, host_memory;
  description::BytesPerSecond h2d, d2h;
  description::BytesPerSecond peer_rate;     ///< from GPU to GPU inside the node, each way
  description::BytesPerSecond network_rate;  ///< of a GPU to other nodes, each way
  description::Seconds network_latency;      ///< of a hop of a collective, inside and outside
  std::uint64_t storage_alignment = 4096;    ///< of ranges: offset and length, bytes
  std::uint64_t view_alignment = 64;         ///< of view offsets, bytes
  bool gpudirect = false;

  Group world() const { return Group{0}; }
  /// Members on all nodes.
  std::uint64_t size(Group group) const;
  /// Storages in file order that wear, i.e. drives (not remote ones).
  std::vector<StorageId> drives() const;
};

}  // namespace spillway::strategies
