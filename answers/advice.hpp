#pragma once

#include "explore/remedies/planning.hpp"
#include "reports/text/text.hpp"

namespace spillway::answers {

/// What a scenario that does not fit lacks, which buffer is the first without room and in which
/// phase, what takes most of the memory that is short, and how much of it would be enough, which is
/// simulated: "needs 919.8 GiB of 744.0 GiB of host memory; first optimizer_states in init; the
/// largest parts are optimizer_states 244.1 GiB, ...; it fits with 1024 GiB of host memory".
///   result   of the scenario, with its needs
///   resolve  reads the scenario with further overrides
text::Text advice_on(const explore::Backend& backend, const description::Scenario& scenario,
                     const result::Result& result, const explore::Resolve& resolve);

}  // namespace spillway::answers
