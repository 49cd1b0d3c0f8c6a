#pragma once

#include "reports/text/text.hpp"
#include "scenarios/description/machine_file.hpp"
#include "strategies/bounds/mandatory.hpp"

#include <string>

namespace spillway::explore {

/// What a memory must hold, and has.
struct Shortage {
  std::string tier;
  double needs = 0, has = 0;  ///< bytes, reserve included

  /// "needs at least 57.3 GiB of 32.0 GiB of host memory, for what every step holds".
  text::Text words() const;
};

/// Of `tier`, which is too small for what every step holds (Mandatory::too_small).
Shortage shortage_of(const strategies::Mandatory& mandatory, const std::string& tier,
                     const description::MachineFile& machine);

}  // namespace spillway::explore
