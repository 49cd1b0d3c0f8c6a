#pragma once

#include "reports/result/result.hpp"

#include <string>

namespace spillway::reports {

/// " (gpu of 2024-03-11)", for behind the price of a machine: what of it is more than a year old;
/// "" where nothing is.
std::string old_prices_beside(const result::Result& result);

}  // namespace spillway::reports
