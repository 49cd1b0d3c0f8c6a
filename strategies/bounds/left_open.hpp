#pragma once

#include "strategies/counting/counting_machine.hpp"

namespace spillway::strategies {

/// What of a step's demand a system decides by the machine it finds: no bound that holds on all
/// machines may have it. Parts say it, so a mix of parts says it too.
struct LeftOpen {
  bool recomputation = false;  ///< which activations stay, leave or are computed again
  bool states = false;         ///< which states spare host memory keeps off the drives
  bool placement = false;      ///< where every tensor is, or which updates a step has
};

LeftOpen left_open(const description::Strategy& strategy);

/// Takes out of `demand` what is open.
void leave_out(Demand& demand, const LeftOpen& open);

}  // namespace spillway::strategies
