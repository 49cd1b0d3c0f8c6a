#pragma once

#include "strategies/counting/counting_machine.hpp"

#include <span>

namespace spillway::strategies {

/// The least of all steps after the set-up and the first one, number by number.
///   late  the last update is behind the last step
Demand least_step(std::span<const Demand> steps, bool late);

}  // namespace spillway::strategies
