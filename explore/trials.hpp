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
  std::string reason;                    ///< why it does not fit or was not run; "" when it fits
  bool ruled_out = false;                ///< by its bound: it was not simulated
  bool refused = false;                  ///< its values contradict each other
  bool not_tried = false;                ///< the backend's Watch ended the question before
  /// The simulation ended in an error of ours or of the machine, or took too long: whether it fits
  /// is not known.
  bool unanswered = false;
  /// Its bound, where one was computed.
  std::optional<double> most_tokens_per_s = std::nullopt;

  bool fits() const { return result && result->feasible(); }
};

/// Simulates the base with each trial's overrides, in children of their own. A trial whose values
/// contradict each other has that as its reason.
///   Result  when not a single one could be resolved: what is wrong with the first
std::optional<description::ScenarioError> try_all(const Backend& backend,
                                                  const nlohmann::json& base,
                                                  std::vector<Trial>& trials);

/// The same, each with its bound.
std::optional<description::ScenarioError> try_bounded(const Backend& backend,
                                                      const nlohmann::json& base,
                                                      std::vector<Trial>& trials);

/// How trials were answered.
struct TrialCounts {
  std::uint64_t bounded = 0, ruled_out = 0, simulated = 0, not_tried = 0;
};

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

/// The trial that fits and trains most tokens a second; nullptr when none fits.
const Trial* fastest(const std::vector<Trial>& trials);

/// Dotted paths of the machine's numbers that nobody states, of those that decide times and sizes.
std::vector<std::string> assumed_numbers(const result::Result& result);

}  // namespace spillway::explore
