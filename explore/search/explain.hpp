#pragma once

#include "explore/store/store.hpp"
#include "explore/trials/trials.hpp"
#include "reports/answer/exploration.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::explore {

using answer::NextStep;

/// An axis of a space and its values.
struct AxisRow {
  std::string name;
  std::vector<AxisValueRow> values;
};

/// Why a point is what it is: the steps that somebody would take from it, each simulated: a drive
/// more and less, host memory 64 GiB more and less, links and processors twice as fast, what stands
/// beside it on axes of the machine, and the other systems with their own parts. These split the
/// samples of a step anew, as each does best; splits that cannot be the best of all are not
/// simulated.
///   scenario     resolved, as JSON that can be read again
///   point        {axis: value}
///   constraints  that a step should meet too
std::vector<NextStep> next_steps(const Backend& backend, const nlohmann::json& scenario,
                                 const std::vector<AxisRow>& axes, const nlohmann::json& point,
                                 const std::vector<std::string>& constraints);

/// The first constraint that a result breaks, with the numbers in it; "" when it meets all.
text::Text unmet(const std::vector<std::string>& constraints, const result::Result& result);

}  // namespace spillway::explore
