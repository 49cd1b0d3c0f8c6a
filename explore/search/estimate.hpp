#pragma once

#include "explore/outcome/outcomes.hpp"
#include "explore/points/points.hpp"

namespace spillway::explore {

/// How long the exploration of a space may take, from points that are spread over it.
struct Estimate {
  std::size_t sampled = 0;               ///< points that were looked at
  double open_share = 0;                 ///< of them, those that no bound alone rules out
  double bounds_s = 0;                   ///< to look at all points of the space, on one core
  double shortest_s = 0, longest_s = 0;  ///< simulations of the sample, each
  double mean_s = 0;         ///< of them, while `jobs` ran at a time; 0: none could be simulated
  double simulations_s = 0;  ///< of what bounds alone leave of the space, `jobs` at a time
  bool whole = true;         ///< the backend's Watch did not end it
};

/// Bounds and simulates up to `samples` points. The front rules out more than bounds alone do, so
/// an exploration simulates less.
///   points  of the space, those that its conditions leave
Estimate estimate(const Backend& backend, const Points& space, std::uint64_t points,
                  std::size_t samples, std::size_t jobs);

}  // namespace spillway::explore
