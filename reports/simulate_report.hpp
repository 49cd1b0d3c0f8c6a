#pragma once

#include "reports/result/result.hpp"
#include "reports/screen.hpp"

#include <string>

namespace spillway::reports {

/// One result for a person: the answer in words, tiers, phases, traffic, wear, what would help.
std::string simulate_report(const result::Result& result, const Screen& screen);

}  // namespace spillway::reports
