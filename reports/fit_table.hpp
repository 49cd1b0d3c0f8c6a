#pragma once

#include "reports/result/fit.hpp"
#include "reports/screen.hpp"

#include <string>

namespace spillway::reports {

/// Parameters, then figures with their errors before and after and what moves them, then what was
/// chosen and what was left out.
std::string fit_table(const result::Fit& fit, const Screen& screen);

}  // namespace spillway::reports
