#pragma once

#include <compare>
#include <cstdint>

namespace spillway::strategies {

/// One process and its GPU; 0-based within the simulated nodes.
struct Rank {
  std::uint32_t index = 0;
  auto operator<=>(const Rank&) const = default;
};
/// Index into Topology::storages.
struct StorageId {
  std::uint32_t index = 0;
  auto operator<=>(const StorageId&) const = default;
};
/// Index into Topology::groups.
struct Group {
  std::uint32_t index = 0;
  auto operator<=>(const Group&) const = default;
};

/// In-order streams of one GPU. The side stream carries what must not hold up the passes:
/// conversions, norms and sums of gradients.
enum class GpuStream : std::uint8_t { compute, side };

/// Where memory comes from. Pinned and pageable share the node's host memory.
enum class TierId : std::uint8_t { gpu, pinned, pageable, storage };

}  // namespace spillway::strategies
