#pragma once

#include "reports/answer/bound.hpp"
#include "scenarios/description/scenario.hpp"

namespace spillway::answers {

/// What no run of `scenario` can better, from one count of what its steps ask of any machine.
///   Throws  ScenarioError when its machine has no compute rate for the training's element type;
///           InternalError
answer::Bound bound_of(const description::Scenario& scenario);

}  // namespace spillway::answers
