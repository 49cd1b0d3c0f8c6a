#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/answer/trial.hpp"

#include <string>
#include <vector>

namespace spillway::explore {

using answer::fastest;
using answer::Trial;
using answer::TrialCounts;

/// Simulates the base with each trial's overrides, in children of their own. A trial whose values
/// contradict each other has that as its reason.
///   Result  when not a single one could be resolved: what is wrong with the first
std::optional<description::ScenarioError> try_all(const Backend& backend,
                                                  const nlohmann::json& base,
                                                  std::vector<Trial>& trials);

/// The same, each with its bound.
std::optional<description::ScenarioError> try_bounded(const Backend& backend,
                                                      const nlohmann::json& base,
                                                      std::vector<Trial>& trials,
                                                      const Effort& effort = {});

/// try_all without the trials that cannot be the fastest: they are simulated in the order of their
/// bounds, and those are left out whose bound is below `share` of the fastest so far, or of which a
/// memory is too small for what they hold throughout.
std::optional<description::ScenarioError> try_fastest(const Backend& backend,
                                                      const nlohmann::json& base,
                                                      std::vector<Trial>& trials, double share,
                                                      TrialCounts& counts);

/// Says of those that were simulated and do not fit what they would need: each is simulated again
/// with tiers that grow, the first few of them, since that takes a whole run.
void find_needs(const Backend& backend, const nlohmann::json& base,
                const std::vector<Trial*>& trials);
void find_needs(const Backend& backend, const nlohmann::json& base, std::vector<Trial>& trials);

/// Dotted paths of the machine's numbers that nobody states, of those that decide times and sizes.
std::vector<std::string> assumed_numbers(const result::Result& result);

}  // namespace spillway::explore
