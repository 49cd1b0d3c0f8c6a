#pragma once

#include "reports/result/purpose.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace spillway::result {

/// A scenario path that decides how large buffers are.
struct Knob {
  std::string_view path;
  /// An "auto" in the scenario is settled as the number of equal buffers of a rank.
  bool counts_buffers = false;
  /// Written "path=value": has no say while that path has that value.
  std::string_view not_with = {};
};

/// What decides how much of a tier a purpose takes, and how it gets smaller.
struct Control {
  std::string_view tier;  ///< gpu host ssd
  Purpose purpose;
  std::span<const Knob> knobs;  ///< the most direct first
  std::string_view smaller;     ///< a few words for people
};

/// The one list of them: every purpose has an entry, on each tier on which systems use it.
std::span<const Control> controls();

/// Of a purpose as results name it; on another tier when it has none on this one, else null.
const Control* control_of(std::string_view tier, std::string_view purpose);

/// "strategy.weights.buffer_count = 9 (auto), strategy.weights.pool = monolithic": the knobs with
/// the values in force.
///   scenario  complete, as in a result; what it lacks is left out
///   count     equal buffers of a rank
std::string setting_of(std::string_view tier, std::string_view purpose,
                       const nlohmann::json& scenario, std::uint64_t count);

}  // namespace spillway::result
