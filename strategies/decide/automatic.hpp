#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/decide/probe.hpp"
#include "strategies/layout/decision.hpp"

namespace spillway::strategies {

/// The scenario with the values that `auto` stands for where they need a count of what a run holds;
/// the others settle when the scenario is read.
///   optimizer.buffers   the most for which host memory is at most `optimizer.host_fill` full at
///                       its peak, equal on all paths; no fewer than an update needs, and no more
///                       than hold all sub-groups of a rank at once
///   Source  MLP-Offload's rule that what memory is left holds sub-groups
///   filled  gets what of it is there only because memory has room
///   Throws  what a probe throws (InternalError)
description::Scenario resolve_automatic(description::Scenario scenario, const Prepared& prepared,
                                        const Probe& probe, Filled* filled = nullptr);

}  // namespace spillway::strategies
