#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::cli {

/// How long a run is to be: tokens, or epochs of a data set.
struct RunOptions {
  std::string tokens, dataset_tokens;
  double epochs = 0;
  bool range = false;  ///< how far headline numbers may be off
};

/// --tokens, --epochs, --dataset-tokens and --range.
void add_run_options(CLI::App& verb, RunOptions& options);
/// The same without --range.
void add_tokens(CLI::App& verb, RunOptions& options);

/// The tokens that they make; nothing where nothing is said.
///   set     what --set says, which may not say them too
///   Throws  ScenarioError
std::optional<double> tokens_of(const RunOptions& options, const std::vector<std::string>& set);

/// Adds ranges to what fits, where they are asked for.
void add_range(const RunOptions& options, const description::Scenario& scenario,
               result::Result& result);

/// "path=value" that says so to a scenario; empty where nothing is said.
std::vector<std::string> run_overrides(const RunOptions& options,
                                       const std::vector<std::string>& set);

}  // namespace spillway::cli
