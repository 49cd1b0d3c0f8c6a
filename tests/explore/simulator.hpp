#pragma once

#include "explore/remedies/planning.hpp"
#include "sim/plugin.hpp"

namespace spillway::explore {

/// The simulator, without a plugin in between.
inline const Backend& sim() {
  static const Backend backend{.name = "sim",
                               .open = sim::open_sim_machine,
                               .prepare = sim::prepare_sim,
                               .open_folded = sim::open_folded_sim_machine};
  return backend;
}

/// Reads the scenario with further overrides.
inline Resolve resolver(const nlohmann::json& scenario) {
  return resolving([scenario](const std::vector<std::string>& more) {
    return scenarios::read_scenario(scenario, more, known_systems(),
                                    scenarios::Refuse::what_cannot_run)
        .scenario;
  });
}

}  // namespace spillway::explore
