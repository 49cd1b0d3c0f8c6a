#pragma once

#include "strategies/planner/saved/saved_items.hpp"

/// Keep, swap to host memory or compute again, by measured cost: Capuchin's policy. Pure functions
/// of numbers.
namespace spillway::strategies {

/// A step in which everything stayed on the GPU, and what is too much of it.
struct CapuchinProblem {
  std::vector<SavedItem> items;
  std::uint64_t need = 0;                           ///< bytes by which its peak exceeds the GPU
  std::uint64_t host_bytes = 0;                     ///< room for what is swapped
  double down_bytes_per_s = 0, up_bytes_per_s = 0;  ///< of the GPU's link
};

/// Seconds between the arrival of `item` in host memory and the last moment at which it can leave
/// from there and be back in time; below 0 backward waits for it.
double free_time_s(const CapuchinProblem& problem, const SavedItem& item);

enum class CapuchinChoice : std::uint8_t { keep, swap, recompute };

/// Swaps what is hidden, most free time first, until `need` is met; then, one by one, the cheaper
/// of the swap that costs least and the recomputation that saves most bytes a second, with all that
/// must be made again for it. Weights and their states are not its concern.
///   Result  by item; gives up less than `need` where nothing is left that can go
///   Source  Capuchin (ASPLOS'20), its hybrid policy. Added: what host memory has no room for is
///           not swapped, and what nobody makes again finds room there first
std::vector<CapuchinChoice> plan_capuchin(const CapuchinProblem& problem);

}  // namespace spillway::strategies
