#pragma once

#include "strategies/layout/weight_layout.hpp"
#include "strategies/planner/chunk_plan.hpp"

namespace spillway::strategies {

/// A rank's shares of all weights in chunks of `weights.chunk` elements over all ranks that share
/// them; auto: of least waste.
ChunkLayout chunk_layout(const Job& job, const WeightLayout& layout);

}  // namespace spillway::strategies
