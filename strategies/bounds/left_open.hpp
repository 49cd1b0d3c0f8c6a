#pragma once

#include "scenarios/description/left_open.hpp"
#include "strategies/counting/counting_machine.hpp"

namespace spillway::strategies {

using description::LeftOpen;

/// What the parts of a strategy leave open together, as each says beside its knobs.
LeftOpen left_open(const description::Strategy& strategy);

/// Takes out of `demand` what is open.
void leave_out(Demand& demand, const LeftOpen& open);

}  // namespace spillway::strategies
