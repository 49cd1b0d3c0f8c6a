#pragma once

#include "strategies/machine/topology.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway::strategies {

/// A storage's share of the sub-groups before any rate is measured: the slower of read and write.
inline double nominal_share(const StorageInfo& storage) {
  return std::min(storage.read, storage.write).value();
}

/// How many of `groups` sub-groups each path gets: in proportion to `bandwidth`, in whole numbers.
///   What is left over goes to the largest remainders; of equals to the faster, then to the first
///   room     [paths] most sub-groups that a path can hold; what exceeds it is split among the
///            others. When no room is left the rest stays with the fastest
///   Throws   InternalError when no bandwidth is above 0, or the lengths differ
///   Source   MLP-Offload, section 3.3, equation 1; rounding and room are assumed
std::vector<std::uint64_t> split_over_paths(std::uint64_t groups, std::span<const double> bandwidth,
                                            std::span<const std::uint64_t> room);

/// Order in which sub-groups go to paths, so that each path always has work: shares of 2 and 1 give
/// first, second, first, and again.
class PlacementOrder {
 public:
  /// shares   [paths] as split_over_paths gives them, not all 0
  explicit PlacementOrder(std::vector<std::uint64_t> shares);
  std::size_t next();

 private:
  std::vector<std::uint64_t> shares_;
  std::vector<std::int64_t> credit_;
  std::int64_t total_ = 0;
};

}  // namespace spillway::strategies
