#pragma once

#include <nlohmann/json.hpp>

namespace spillway::scenarios {

/// Gives a machine file that has prices the price of a kWh, unless it says one itself.
///   sources  those of the machine
void add_price_of_energy(nlohmann::json& machine, nlohmann::json& sources);

/// What a drive takes from the plug of which no sheet is at hand, and its source.
struct UsualPower {
  double watts = 0;
  std::string source;
};
UsualPower usual_drive_power();

}  // namespace spillway::scenarios
