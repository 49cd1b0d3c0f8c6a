#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/result/fit.hpp"
#include "scenarios/reading/read_figures.hpp"

#include <string>
#include <vector>

namespace spillway::explore {

/// A fit of a machine's parameters and the machine file that it would make.
struct Fitted {
  result::Fit fit;
  std::string machine_file;  ///< the file's text with the new values and their intervals
};

/// Fits again what figures of role `fit` say was fitted on them, for the shipped `machine`: least
/// squares over relative errors, each divided by its figure's tolerance, with every parameter
/// between a tenth and ten times its present value and what the schema allows.
///   Takes   figures all of whose setups run on `machine`, and that can be run
///   Writes  behind the source of each parameter that several of them pin where each of them lets
///           it lie (description::PinnedInterval)
///   Throws  ScenarioError: no such machine, or no figure has anything to fit on it
Fitted fit_machine(const Backend& backend, const std::vector<scenarios::Figure>& figures,
                   const std::string& machine, std::size_t jobs = 0);

}  // namespace spillway::explore
