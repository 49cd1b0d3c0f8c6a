#pragma once

#include "explore/outcomes.hpp"

#include <string>
#include <vector>

namespace spillway::explore {

/// One of several answers to a question, and what came of it.
struct Trial {
  std::string words;                     ///< "micro-batch 8"
  std::vector<std::string> overrides;    ///< "path=value"
  std::optional<result::Result> result;  ///< of what could be run, whether it fits or not
  std::string reason;  ///< why it does not fit or could not be run; "" when it fits

  bool fits() const { return result && result->feasible(); }
};

/// Simulates the base with each trial's overrides, in children of their own. A trial whose values
/// contradict each other has that as its reason.
///   Result  when not a single one could be resolved: what is wrong with the first
std::optional<description::ScenarioError> try_all(const Backend& backend,
                                                  const nlohmann::json& base,
                                                  std::vector<Trial>& trials);

/// The trial that fits and trains most tokens a second; nullptr when none fits.
const Trial* fastest(const std::vector<Trial>& trials);

/// Dotted paths of the machine's numbers that nobody states, of those that decide times and sizes.
std::vector<std::string> assumed_numbers(const result::Result& result);

}  // namespace spillway::explore
