#pragma once

#include "explore/outcome/outcomes.hpp"
#include "scenarios/reading/read_figures.hpp"

#include <map>
#include <string>
#include <vector>

namespace spillway::explore {

/// A setup of a figure: a scenario that can be run, or why it cannot be yet.
struct Setup {
  std::optional<std::size_t> run;  ///< index into Setups::scenarios
  std::string skipped;             ///< "the system lohan is not there yet"
};

/// The setups of many figures; those that are equal but for their name are one scenario.
struct Setups {
  std::vector<std::map<std::string, Setup>> of;  ///< parallel to the figures
  std::vector<description::Scenario> scenarios;
};

/// Resolves the setups of `figures`.
///   Throws  ScenarioError with everything that is wrong; a system that is not in the catalogue and
///           what its schedule cannot run yet are not
Setups resolve_setups(const std::vector<scenarios::Figure>& figures,
                      const std::vector<std::string>& overrides = {});

}  // namespace spillway::explore
