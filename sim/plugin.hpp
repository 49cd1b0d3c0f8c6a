#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/machine/machine.hpp"

#include <memory>

namespace spillway::sim {

/// A machine in virtual time. The simulator is a plugin: SimGrid is loaded by the first call.
///   Lives   one at a time in a process; `trace` keeps every span
///   fold    see SimMachine
///   Throws  DeviceError when the plugin cannot be opened
std::unique_ptr<strategies::Machine> open_sim_machine(const description::Scenario& scenario,
                                                      bool trace);
std::unique_ptr<strategies::Machine> open_folded_sim_machine(const description::Scenario& scenario);

/// Loads the simulator and creates its engine, so that children forked after it start at once.
///   Throws  DeviceError when the plugin cannot be opened
void prepare_sim();

}  // namespace spillway::sim

/// What the plugin shows. The first gives ownership; both may throw.
extern "C" {
spillway::strategies::Machine* spillway_make_sim_machine(
    const spillway::description::Scenario& scenario, bool trace, spillway::strategies::Fold fold);
void spillway_sim_prepare();
}
