#pragma once

#include "reports/view/table.hpp"

#include <string>

namespace spillway::reports {

/// A number as a table shows it whose unit an answer names.
///   unit  "bytes", "memory" (bytes as memory is sold), "bytes_per_s", "flops_per_s",
///         "params_per_s", "s", "share", "per_s"; "W" and "MT/s" are written as they are. Others
///         are counts
view::Number number_in(const std::string& unit, double value, view::Origin origin);

}  // namespace spillway::reports
