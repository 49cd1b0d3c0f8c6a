#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// One rank of a system whose planner decides per tensor: every tensor in a GPU buffer of its own
/// or away, kernels one by one with their operands on the GPU, 1F1B over pipeline stages. Without
/// destinations nothing moves, which is what a plan is compared with.
///   Throws  OutOfMemory naming tier and largest operand of the kernel that no plan can run
Task<> train_planned(Machine& machine, Rank rank, const Job& job);

}  // namespace spillway::strategies
