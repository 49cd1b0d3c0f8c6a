#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// Modules of blocks, from the first, whose saved tensors the cache of `rank` stores until it has
/// measured a step: modules_to_offload at the rates of the machine file. `job` is that of the rank.
std::size_t nominal_modules_to_offload(const Job& job, const Topology& topology, Rank rank);

}  // namespace spillway::strategies
