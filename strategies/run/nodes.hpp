#pragma once

#include "reports/result/result.hpp"
#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// Notes which nodes were simulated, and which of them the result is of; nothing for one node.
void note_nodes(const description::Scenario& scenario, const Topology& topology,
                result::Result& result);

/// Adds what each of several simulated nodes holds and moves; nothing where one stands for all.
///   all    the sum of the measured steps
///   steps  how many these are
void add_nodes(Machine& machine, const description::Scenario& scenario, const StepRecord& all,
               double steps, result::Result& result);

}  // namespace spillway::strategies
