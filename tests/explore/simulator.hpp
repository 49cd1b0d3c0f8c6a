#pragma once

#include "explore/outcomes.hpp"
#include "sim/plugin.hpp"

namespace spillway::explore {

/// The simulator, without a plugin in between.
inline const Backend& sim() {
  static const Backend backend{"sim", sim::open_sim_machine, sim::prepare_sim};
  return backend;
}

}  // namespace spillway::explore
