#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/result/fidelity.hpp"
#include "scenarios/reading/read_figures.hpp"

#include <string>
#include <vector>

namespace spillway::explore {

/// An open figure may move by this share of its value before it counts as drifted.
inline constexpr double drift_allowed = 0.02;

/// Those of `figures` whose id or source contains `text`.
std::vector<scenarios::Figure> filtered(const std::vector<scenarios::Figure>& figures,
                                        const std::string& text);

/// Simulates what `figures` ask for, `jobs` at a time, each distinct scenario once, and judges
/// them.
///   known   figures known not to be met, or not at the common tolerance; entries for other
///           figures are ignored
///   Throws  ScenarioError when a figure cannot be read as it is meant
result::Fidelity judge(const Backend& backend, const std::vector<scenarios::Figure>& figures,
                       const scenarios::KnownFigures& known, std::size_t jobs = 0);

/// The lists that `fidelity` would ask for: what misses or drifted with its present value, what is
/// met again left out, reasons kept, figures that did not run as they were. A figure that passes
/// its own tolerance, either way, takes its reason to the other list; none comes into the list of
/// those beyond the common tolerance that had no reason.
scenarios::KnownFigures recorded(const result::Fidelity& fidelity,
                                 const scenarios::KnownFigures& known);

}  // namespace spillway::explore
