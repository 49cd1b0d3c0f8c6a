#pragma once

#include "explore/outcomes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::explore {

/// A change of a scenario and what it would bring.
struct NextStep {
  std::string words;  ///< "one more drive of nvme"
  std::optional<result::Result> result;
  std::string reason;  ///< why there is no result that fits
};

/// Why a point is what it is: the steps that somebody would take from it, each simulated: a drive
/// more and less, host memory 64 GiB more and less, links and processors twice as fast, and the
/// other systems with their own parts.
///   scenario  resolved, as JSON that can be read again
std::vector<NextStep> next_steps(const Backend& backend, const nlohmann::json& scenario);

}  // namespace spillway::explore
