#pragma once

#include "scenarios/description/machine_file.hpp"

#include <string>

namespace spillway::explore {

/// What of a machine decides which demand a system has on it: all but rates, sizes, numbers of
/// drives, prices and names. Machines of one shape share a strategies::Mandatory where it says that
/// it holds for them.
std::string shape_of(description::MachineFile machine);

}  // namespace spillway::explore
