#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/answer/comparison.hpp"

#include <string>
#include <vector>

namespace spillway::answers {

/// Which of these is better?
struct CompareQuestion {
  std::vector<std::string> scenarios;  ///< files, or names of scenarios/examples
  /// Run with each scenario in place of its own system, with their own parts; {"all"}: every system
  /// of this version; empty: each scenario as it is.
  std::vector<std::string> systems;
  std::vector<std::string> overrides;  ///< "path=value" of all of them
};

struct Entry {
  std::string label;
  description::Scenario scenario;
  /// The label of the entry that differs in what the system's own search chooses alone: of these
  /// the fastest takes part. "": it is none of these.
  std::string beside{};
};

/// What will run, and whom the box or the training rules out.
struct Field {
  std::vector<Entry> entries;
  std::vector<answer::LeftOut> left_out;  ///< "strategy.optimizer.device: needs ..."
  std::vector<std::string> warnings;      ///< about what is legal, but hardly meant; each once
};

/// Reads the scenarios.
///   Throws  ScenarioError with everything that is wrong: in a file, or with it for each system
Field field_of(const CompareQuestion& question);

/// How much is simulated besides the scenarios.
struct CompareEffort {
  bool range = false;     ///< how far headline numbers may be off
  bool what_ifs = false;  ///< what limits each, where there are a few
  std::string today;      ///< "2026-11-22": prices a year older are named; "": none
};

/// Simulates all of them. Who turns out not to be able to run is left out, unless nobody can.
///   Throws  ScenarioError: what is wrong with all of them
answer::Comparison compare(const explore::Backend& backend, Field field,
                           const CompareEffort& effort);

}  // namespace spillway::answers
