#pragma once

#include "reports/result/result.hpp"
#include "strategies/layout/decision.hpp"
#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// Of a run that has ended: peaks, capacities, reserves, and what each tier must have (see
/// result::NeededBytes). One that stopped where it did not fit has capacities and reserves only.
void add_memory(Machine& machine, const description::Scenario& scenario, const Filled& filled,
                result::Result& result);

}  // namespace spillway::strategies
