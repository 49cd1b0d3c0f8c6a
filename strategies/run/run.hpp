#pragma once

#include "reports/result/result.hpp"
#include "strategies/layout/decision.hpp"
#include "strategies/machine/machine.hpp"
#include "strategies/run/counting_probe.hpp"

namespace spillway::strategies {

/// Runs what was decided on `machine`, one coroutine per rank, and sums up its measured steps; or
/// the stream of `run.io_bench`. Decides nothing.
///   delays    gets those of updates that no step waited for, by rank; none: empty
///   backend   name of the machine in the result: counting, sim, real
///   Result    infeasible runs are results: the first request that failed; where the machine's
///             tiers grow also peaks and needs, as if nothing had, but no times
///   Throws    what a strategy or machine throws otherwise (InternalError, DeviceError)
result::Result run(Machine& machine, const Decision& decision, const std::string& backend,
                   std::vector<Delays>* delays = nullptr);

/// prepare() and decide(), candidates tried by counting runs.
///   probe   makes them
///   Throws  ScenarioError, all complaints of model and parts
Decision decided(const description::Scenario& scenario, Tiers tiers = Tiers::fixed,
                 const Probe& probe = counting_probe());
/// The same without settling `auto` values first.
Decision decided_as_written(const description::Scenario& scenario, Tiers tiers = Tiers::fixed);

}  // namespace spillway::strategies
