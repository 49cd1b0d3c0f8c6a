#pragma once

#include "strategies/decide/saved_planners.hpp"

namespace spillway::strategies {

/// G10's planner over saved tensors alone, for a schedule that streams layers: each may be away
/// from the last kernel of forward that uses it to the first of backward, on drives while the array
/// has time, else in host memory, as `activations.homes` allow; those that hide come first. Nothing
/// is made again. It sees no traffic of weights and states.
///   held_bytes  that saved tensors may hold on a GPU at any moment
///   host_bytes  the same of host memory
///   Source      G10 (MICRO'23), tensor vitality; LoHan, section V-A (LoHan+G10)
DecidedFates g10_fates(const description::Scenario& scenario, const SavedProfile& profile,
                       const models::StepProgram& program, std::uint64_t held_bytes,
                       std::uint64_t host_bytes);

}  // namespace spillway::strategies
