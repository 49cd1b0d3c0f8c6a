#pragma once

#include "reports/result/result.hpp"
#include "reports/screen.hpp"

#include <span>
#include <string>

namespace spillway::reports {

/// One column of a comparison.
struct Contender {
  std::string label;
  const result::Result* result = nullptr;  ///< null: none, as `failure` says; outlives the call
  std::string failure = "";
};

/// Results side by side, one row per metric. "*" marks the best of a row among those that fit: each
/// that reads the same as the best, and none where all do. "-" is what a run that does not fit, or
/// a machine without a price, cannot answer; a row that nobody answers is left out. A run without a
/// result has what went wrong in place of whether it fits.
std::string compare_table(std::span<const Contender> contenders, const Screen& screen);

}  // namespace spillway::reports
