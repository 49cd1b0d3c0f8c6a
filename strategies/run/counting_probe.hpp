#pragma once

#include "strategies/decide/probe.hpp"

namespace spillway::strategies {

/// Tries candidates by counting runs: no time, what they hold.
Probe counting_probe();

}  // namespace spillway::strategies
