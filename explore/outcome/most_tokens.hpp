#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/bounds/mandatory.hpp"

#include <optional>

namespace spillway::explore {

/// Of all ranks together.
double tokens_a_step(const description::Scenario& scenario);

/// What any machine has to do for the scenario; nothing where that is not known, or where counting
/// it ends in a bug of ours: whoever simulates it is told.
std::optional<strategies::Mandatory> mandatory_of(const description::Scenario& scenario);

/// No run of the scenario trains more tokens a second: 0 where a memory is too small for what every
/// run holds, infinity where no bound is known, as for mandatory_of.
///   Throws  ScenarioError when the model or machine cannot run as the scenario says
double most_tokens_per_s(const description::Scenario& scenario);

}  // namespace spillway::explore
