#pragma once

#include "scenarios/description/units.hpp"
#include "strategies/ids.hpp"

#include <string>
#include <vector>

namespace spillway::strategies {

struct StorageInfo {
  std::string name;
  std::uint64_t drives = 1;
  description::Bytes capacity;              ///< of the array; 0: unlimited
  description::BytesPerSecond read, write;  ///< of the array, nominal
  bool wears = false;                       ///< kind ssd
};

/// What a strategy may know of the machine: shape and nominal rates. No clock, no vendor.
struct Topology {
  std::uint32_t ranks = 1;  ///< of the simulated node
  std::vector<StorageInfo> storages;
  std::vector<std::vector<Rank>> groups;  ///< members in rank order; group 0: all ranks
  description::Bytes gpu_memory, host_memory;
  description::BytesPerSecond h2d, d2h;
  std::uint64_t storage_alignment = 4096;  ///< of ranges: offset and length, bytes
  std::uint64_t view_alignment = 64;       ///< of view offsets, bytes
  bool gpudirect = false;

  Group world() const { return Group{0}; }
  /// Storages in file order that wear, i.e. drives (not remote ones).
  std::vector<StorageId> drives() const;
};

}  // namespace spillway::strategies
