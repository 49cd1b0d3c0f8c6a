#pragma once

#include "scenarios/description/scenario.hpp"

namespace spillway::explore {

/// Of all ranks together.
double tokens_a_step(const description::Scenario& scenario);

/// No run of the scenario trains more tokens a second: 0 where a memory is too small for what every
/// run holds, infinity where no bound is known.
///   Throws  ScenarioError when the model or machine cannot run as the scenario says; InternalError
double most_tokens_per_s(const description::Scenario& scenario);

}  // namespace spillway::explore
