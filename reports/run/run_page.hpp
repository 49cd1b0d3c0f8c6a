#pragma once

#include "reports/answer/simulation.hpp"
#include "reports/result/result.hpp"
#include "reports/result/validation.hpp"
#include "reports/run/explain.hpp"
#include "reports/view/document.hpp"

#include <span>
#include <string>
#include <vector>

namespace spillway::reports {

/// A change with which a run fits, or goes faster, and the command that makes it.
struct PageRemedy {
  std::string words;
  std::string command;
  result::Result result;
};

/// One run, and all that its page says.
struct PageRun {
  std::string label;
  result::Result result;
  std::vector<Setting> settings;                   ///< of the scenario, by path
  result::Trace trace;                             ///< empty: no timeline
  std::vector<PageRemedy> remedies;                ///< of what does not fit
  std::vector<answer::FasterSettings> faster;      ///< of what fits
  std::vector<text::Text> notes;                   ///< what a reader must know of this run
  const result::Validation* validation = nullptr;  ///< whose prediction this is
};

/// Where a page comes from.
struct PageOrigin {
  std::string command;  ///< makes the page again
  std::string version;  ///< of the program
};

/// The report of one run, or of several side by side: the verdict; what limits it; peaks; one step
/// over time; what would make it better; wear and cost; assumptions; inputs; the scenario and the
/// command; version and seed. Each result is in it whole (view::Data), as `--json` prints it.
view::Document run_page(std::span<const PageRun> runs, const PageOrigin& origin);

}  // namespace spillway::reports
