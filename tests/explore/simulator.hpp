#pragma once

#include "explore/outcomes.hpp"
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

}  // namespace spillway::explore
