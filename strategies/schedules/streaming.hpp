#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// One rank of a system that streams its layers, set-up and all steps: by the schedule that its
/// gradients and updates stand for (schedules/stories.hpp).
Task<> train_streaming(Machine& machine, Rank rank, const Job& job);

}  // namespace spillway::strategies
