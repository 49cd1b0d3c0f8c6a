#pragma once

#include "reports/view/document.hpp"

#include <string>

namespace spillway::view {

/// What the page's script draws, as JSON: columns of numbers, times in nanoseconds.
std::string chart_data(const Lanes& lanes);
std::string chart_data(const Series& series);

}  // namespace spillway::view
