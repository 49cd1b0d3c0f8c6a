#pragma once

#include "strategies/decide/saved_planners.hpp"

namespace spillway::strategies {

/// Checkmate's plan for one block of each kind, repeated for all that are alike: what stays, what
/// goes to host memory (where `activations.homes` has it), what is made again.
///   held_bytes  room on a GPU for what all blocks hold between forward and backward
///   host_bytes  the same of host memory
///   Differs     ('assumed') a block's kernels are its forward item by item, and its backward as
///               one kernel, before which everything is there, as these schedules run it
DecidedFates checkmate_fates(const description::Scenario& scenario, const SavedProfile& profile,
                             const models::StepProgram& program, std::uint64_t held_bytes,
                             std::uint64_t host_bytes);

}  // namespace spillway::strategies
