#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/answer/fit.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// Does this model train on this machine, and how well?
struct FitQuestion {
  std::string model;                     ///< a name of models/library, a file, a folder
  nlohmann::json machine;                ///< a machine file, or its name
  std::optional<std::uint64_t> context;  ///< tokens of a sample; absent: 4096, or the model's limit
  std::optional<double> tokens;          ///< of the finished run
  bool runnable = false;                 ///< only what a maintained program trains
  std::vector<std::string> systems;      ///< only these; empty: all whose updates come in time
  std::vector<std::string> overrides;    ///< "path=value" of everything that is tried
};

using answer::FitAnswer;
using answer::FitChange;
using answer::FitNeed;
using answer::MoreSamples;

/// Answers with twenty to thirty simulations; where nothing fits, with one of each way, a few more
/// and a search on the box on which it would fit.
///   Throws  ScenarioError when the words mean nothing
FitAnswer fit(const explore::Backend& backend, const FitQuestion& question);

}  // namespace spillway::answers
