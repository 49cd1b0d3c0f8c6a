#pragma once

#include "reports/result/result.hpp"
#include "reports/view/table.hpp"
#include "reports/words/screen.hpp"

#include <span>
#include <string>

namespace spillway::reports {

/// A line about a finished run: "-" where a result does not say.
struct RunLine {
  const char* title;
  view::Text (*of)(const result::Result& result);
};
std::span<const RunLine> run_lines();

/// The lines that say something; no rows for a result without a finished run.
view::Table finished_run_table(const result::Result& result);
/// The same as text; "" for a result without a finished run.
std::string finished_run_report(const result::Result& result, const Screen& screen);

}  // namespace spillway::reports
