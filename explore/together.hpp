#pragma once

#include "explore/explorer.hpp"

#include <optional>

namespace spillway::explore {

/// explore() by all ranks of the job that mpirun started this process in: the same front, as rank 0
/// searches and the others only say what points are. Each rank simulates with `options.jobs`
/// processes into a database of its own, DATABASE.RANK; rank 0 takes those that it can see over
/// into DATABASE at the beginning and at the end. A rank that is silent for too long is given up,
/// and its points are done by others; when rank 0 is, the job ends, and starting it again goes on.
///   Result  of rank 0; the others have nothing to say
///   Throws  ScenarioError; DeviceError: no MPI, rank 0 lost, all others lost
std::optional<Exploration> explore_together(const Backend& backend, const Points& points,
                                            const std::string& database,
                                            const ExploreOptions& options);

}  // namespace spillway::explore
