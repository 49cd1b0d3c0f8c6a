#pragma once

#include "scenarios/reading/read_scenario.hpp"

#include <nlohmann/json.hpp>

namespace spillway::scenarios {

/// A resolved scenario as a person would write it: of its strategy only what its system has
/// otherwise, so that another system's name in the file brings that system's parts. The scenario
/// as it is where the short one would not be read as the same.
nlohmann::json with_own_parts(const nlohmann::json& scenario,
                              const std::vector<SystemInfo>& systems);

}  // namespace spillway::scenarios
