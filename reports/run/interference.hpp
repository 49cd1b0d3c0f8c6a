#pragma once

#include "reports/result/result.hpp"
#include "reports/view/text.hpp"

namespace spillway::reports {

/// What of the scenario makes resources of the run slower, or faster, together than alone: drives
/// that read and write at once, ranks on one CPU, threads that launch kernels or copy, jitter; "":
/// nothing does.
view::Text interference(const result::Result& result);

}  // namespace spillway::reports
