#pragma once

#include "strategies/decide/probe.hpp"

namespace spillway::strategies {

/// Tries candidates by counting runs: no time, what they hold.
Probe counting_probe();

/// The same, which counts once what differs in nothing that counts depend on: plans beside each
/// other of one machine, with updates held to other rates or other amounts of bytes to swap. Copies
/// remember together.
Probe remembering_probe();

}  // namespace spillway::strategies
