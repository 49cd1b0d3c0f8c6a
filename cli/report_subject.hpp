#pragma once

#include "reports/result/validation.hpp"
#include "scenarios/reading/read_scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::cli {

/// One thing that `spillway report` is about: a scenario, or a result that is there already.
struct Subject {
  std::string word;   ///< of the command
  std::string label;  ///< above its column
  std::optional<result::Result> result = {};
  std::optional<result::Validation> validation = {};  ///< `result` is its prediction
};

/// What a word of the command means: FILE.db:NUMBER, a file of JSON with a result, an array of
/// them, or a validation, else a scenario or its name.
///   Throws  ScenarioError
std::vector<Subject> subjects_of(const std::string& word);

/// The scenario of it, resolved.
///   Throws  ScenarioError
scenarios::Resolved read_subject(const Subject& subject, const std::vector<std::string>& overrides);

}  // namespace spillway::cli
