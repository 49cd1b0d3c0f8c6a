#include "sim/plugin.hpp"

#include "sim/sim_machine.hpp"

spillway::strategies::Machine* spillway_make_sim_machine(
    const spillway::description::Scenario& scenario, bool trace, spillway::strategies::Fold fold) {
  return new spillway::sim::SimMachine(scenario, trace, fold);
}

void spillway_sim_prepare() { spillway::sim::prepare_engine(); }
