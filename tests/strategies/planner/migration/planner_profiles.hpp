#pragma once

#include "strategies/planner/migration/planner.hpp"

#include <random>

namespace spillway::strategies::planner {

/// A random step: tensors that live on and tensors that die, ranges anywhere.
Lifetimes random_lifetimes(std::mt19937_64& random, std::uint32_t slots, std::uint32_t tensors);

/// Random rates, destinations and limits; capacity between the largest operand set and the peak.
PlanSettings random_settings(std::mt19937_64& random, const Lifetimes& lifetimes);

/// The plan by the definition: every interval's rank again in every round, windows and ledgers slot
/// by slot.
Plan plan_slowly(const Lifetimes& lifetimes, const PlanSettings& settings,
                 const std::vector<std::int64_t>& ticks);

/// Bytes on the GPU by slot as the moves leave them.
std::vector<std::uint64_t> pressure_of(const Lifetimes& lifetimes, const std::vector<Move>& moves);

}  // namespace spillway::strategies::planner
