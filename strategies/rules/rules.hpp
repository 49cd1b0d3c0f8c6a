#pragma once

#include "scenarios/description/errors.hpp"
#include "strategies/rules/rule.hpp"

namespace spillway::strategies {

namespace rules {

/// The rows of all parts in the order in which they are asked. What gradients are decides the order
/// of their update, so their rows stand before those of the optimizer.
std::span<const Table> all();

}  // namespace rules

/// What this version's schedules cannot run, as complaints with JSON paths: for scenarios that a
/// program made or changed. Whoever reads one has asked (scenarios::Refuse::what_cannot_run).
std::vector<description::Complaint> unsupported(const description::Scenario& scenario);

/// Throws  ScenarioError with all that `unsupported` finds
void require_supported(const description::Scenario& scenario);

}  // namespace spillway::strategies
