#pragma once

#include <string>
#include <vector>

namespace spillway::explore {

/// A system with its own parts, or the parts of a scenario.
struct Way {
  std::string name;       ///< "lohan", "lohan + pinned exact"
  std::string overrides;  ///< `strategy={...}`
  bool plans = false;     ///< tensor by tensor for one box: that takes its time
};

/// The systems that are asked for; without any, all of the catalogue whose updates come in time.
/// Then the mixes that are asked for; without any and without systems, those that ship.
///   systems  names; one that the catalogue lacks is kept: whoever reads it says what is wrong
///   mixes    files or names of scenarios/examples; "none": no mixes
///   Throws   ScenarioError: a mix that cannot be read or has no strategy
std::vector<Way> ways_of(const std::vector<std::string>& systems,
                         const std::vector<std::string>& mixes);

/// A system by its name, or the parts of a scenario that ships as an example.
Way way_named(const std::string& name);
/// Whether way_named takes it for a scenario's parts.
bool is_mix(const std::string& name);

}  // namespace spillway::explore
