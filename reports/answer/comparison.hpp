#pragma once

#include "reports/result/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// One of the runs that are compared.
struct Compared {
  std::string label;                     ///< "memascend", "my_box memascend"
  std::optional<result::Result> result;  ///< absent: none, as `failure` says
  std::string failure;
  std::string system;       ///< that was asked for
  nlohmann::json scenario;  ///< resolved
};

/// Who does not take part.
struct LeftOut {
  std::string label, reason;
};

/// What `spillway compare` answers: systems or scenarios side by side.
struct Comparison {
  std::vector<Compared> runs;
  std::vector<LeftOut> left_out;        ///< whom the box, the training or the time rules out
  std::vector<std::string> old_prices;  ///< which prices are more than a year old, by machine
};

// Schema spillway/answer/compare/1. Reading takes what an older release wrote, and the array that
// `compare --json` prints; it throws ScenarioError.
void to_json(nlohmann::json& json, const Comparison& comparison);
void from_json(const nlohmann::json& json, Comparison& comparison);

/// What `compare --json` prints: an array of results, each with its "label", as a system may stand
/// there twice; of a run that has no result, {"label", "system", "scenario", "failure"}.
nlohmann::json rows_of(const Comparison& comparison);

}  // namespace spillway::answer
