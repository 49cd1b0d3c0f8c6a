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
///   open    figures known not to be met; entries for other figures are ignored
///   Throws  ScenarioError when a figure cannot be read as it is meant
result::Fidelity judge(const Backend& backend, const std::vector<scenarios::Figure>& figures,
                       const std::vector<scenarios::OpenFigure>& open, std::size_t jobs = 0);

/// The open list that `fidelity` would ask for: what misses or drifted with its present value, what
/// is met again left out, reasons kept, figures that did not run as they were.
std::vector<scenarios::OpenFigure> recorded(const result::Fidelity& fidelity,
                                            const std::vector<scenarios::OpenFigure>& open);

}  // namespace spillway::explore
