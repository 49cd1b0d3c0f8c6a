#pragma once

#include "explore/remedies/planning.hpp"
#include "reports/answer/simulation.hpp"
#include "reports/answer/trial.hpp"

#include <vector>

namespace spillway::explore {

/// Looks for settings that cost nothing and make a step of the same samples shorter: what lies on
/// drives or in host memory nearer to the GPU, where that has room; larger micro-batches with less
/// accumulation; a lower ZeRO stage; less recomputation; a share of the update on the GPU; a fused
/// loss and kernels; then several of them together. The system stays, and so does the program that
/// runs it.
///   result   of a scenario that fits
///   resolve  reads the scenario with further overrides
///   Result   the shortest step first, each a fiftieth shorter at least, or no longer where nothing
///           is written to drives any more; none of a run without training. What a Watch ended is
///           missing.
std::vector<answer::FasterSettings> faster_settings(const Backend& backend,
                                                    const result::Result& result,
                                                    const Resolve& resolve);

}  // namespace spillway::explore
