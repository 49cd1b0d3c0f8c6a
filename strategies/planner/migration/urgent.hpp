#pragma once

#include "strategies/planner/migration/planner.hpp"

namespace spillway::strategies::planner {

/// Makes a plan fit by waits: where a slot still exceeds the capacity, its kernel waits until
/// tensors that leave are gone, then until more idle ones have left (largest bytes x time to the
/// next use first), then holds back those that were about to return.
///   plan  made by plan_greedily; its shortage says so when no idle tensor is left, or no
///         destination has room
void make_room(const Lifetimes& lifetimes, const PlanSettings& settings, Plan& plan);

/// What the kernel of `slot` lacks, where `excess` bytes are too many: its largest operand.
Shortage shortage_at(const Lifetimes& lifetimes, std::uint32_t slot, std::int64_t excess);

}  // namespace spillway::strategies::planner
