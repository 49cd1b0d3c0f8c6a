#pragma once

#include "explore/store/store.hpp"
#include "explore/trials.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::explore {

/// A change of a scenario and what it would bring.
struct NextStep {
  std::string words;    ///< "one more drive of nvme", "memascend, micro-batch 8 x 8"
  bool system = false;  ///< another system with its own parts
  std::optional<result::Result> result;
  std::string reason;                       ///< why there is no result that fits
  std::string unmet;                        ///< the constraint that it breaks; "" when it meets all
  std::optional<double> most_tokens_per_s;  ///< its bound, where one was computed
};

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
std::string unmet(const std::vector<std::string>& constraints, const result::Result& result);

}  // namespace spillway::explore
