#pragma once

#include "scenarios/description/scenario.hpp"

#include <string>

namespace spillway::explore {

/// What of a machine decides which demand a system has on it: all but rates, sizes, numbers of
/// drives, prices and names.
std::string shape_of(description::MachineFile machine);
/// The same of a scenario's, with the GPU's rates where they decide how its pipeline is cut.
/// Scenarios that differ in machines of one shape share a strategies::Mandatory.
std::string shape_of(const description::Scenario& scenario);

}  // namespace spillway::explore
