#pragma once

#include "reports/answer/bound.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/bounds/mandatory.hpp"

namespace spillway::answers {

/// Bounds of scenarios one after another. Owns the last count of what a step asks of any machine,
/// which scenarios share that differ in rates, sizes and prices of their machines only.
class Bounding {
 public:
  /// What no run of `scenario` can better.
  ///   Throws  ScenarioError when its machine has no compute rate for the training's element type;
  ///           InternalError
  answer::Bound of(const description::Scenario& scenario);

 private:
  std::string counted_;  ///< what those have in common that share the count
  std::optional<strategies::Mandatory> mandatory_;
};

/// Bounding().of(scenario).
answer::Bound bound_of(const description::Scenario& scenario);

}  // namespace spillway::answers
