#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway::strategies {

/// What updates that no step waits for were made of, and when kernels saw them: enough to repeat
/// the training bit for bit. Of one rank.
struct Delays {
  /// By weight, then by update: the last gradient in it, in micro-batches of the run from 1. The
  /// next update begins behind it.
  std::vector<std::vector<std::uint64_t>> applied;
  std::vector<std::vector<std::uint64_t>> seen;  ///< by weight, each time it is fetched: updates
  /// By sub-group: steps in which an update of it was published; the set-up is 0.
  std::vector<std::vector<std::size_t>> published;
};

}  // namespace spillway::strategies
