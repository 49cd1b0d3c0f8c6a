#pragma once

#include "explore/outcome/outcomes.hpp"
#include "sim/plugin.hpp"

namespace spillway::answers {

/// The simulator, without a plugin in between.
inline const explore::Backend& sim() {
  static const explore::Backend backend{"sim", sim::open_sim_machine, sim::prepare_sim};
  return backend;
}

}  // namespace spillway::answers
