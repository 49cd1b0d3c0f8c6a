#pragma once

#include "reports/result/result.hpp"
#include "reports/screen.hpp"

#include <span>
#include <string>

namespace spillway::reports {

/// A line about a finished run: "-" where a result does not say.
struct RunLine {
  const char* title;
  std::string (*of)(const result::Result& result);
};
std::span<const RunLine> run_lines();

/// The lines that say something, as a table; "" for a result without a finished run.
std::string finished_run_report(const result::Result& result, const Screen& screen);

}  // namespace spillway::reports
