#pragma once

#include "strategies/layout/decision.hpp"

#include <map>
#include <string>

namespace spillway::strategies {

/// Says in the decided scenario what parts would find by themselves from the rest of it, by the
/// functions that they use: how many buffers of which size, how large a cache and a chunk are,
/// where gradients land, how pinned memory is rounded. A knob that nobody reads stays `auto`, and
/// so do two that times decide which the run measures, after what is decided of its first steps: a
/// cache's budget (Decided::cached_modules) and shares of storages (first_shares).
///   Changes  nothing that a run does
void settle_knobs(Decided& all);

/// By storage, shares of `optimizer.paths` that are `auto`, before any time is measured: bytes per
/// second.
std::map<std::string, double> first_shares(const description::Scenario& scenario);

}  // namespace spillway::strategies
