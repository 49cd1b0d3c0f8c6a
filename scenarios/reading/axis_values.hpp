#pragma once

#include "scenarios/reading/read_space.hpp"

namespace spillway::scenarios {

/// The values of the axis at `pointer` of a space: a list, a range (`from`, `to`, and `step` or
/// `times`; 1 where neither stands and both are numbers) or alternatives.
///   Range      includes `to` when a step meets it; quantities have one dimension
///   Complaints are added to `complaints`
Axis read_axis(const LocatedJson& space, const std::string& pointer, const std::string& name,
               std::vector<description::Complaint>& complaints);

}  // namespace spillway::scenarios
