#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace spillway::scenarios {

/// Gives a machine file without `power` that of its parts (scenarios/knobs/power), and one that has
/// prices that of a kWh; sources included. Nothing where the card is not known.
///   card  its name in the catalogue of parts: "RTX 4090"
void add_power(nlohmann::json& machine, const std::string& card);

}  // namespace spillway::scenarios
