#pragma once

#include "reports/result/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// A change that makes an infeasible scenario fit.
struct Remedy {
  std::string words;                   ///< "training.micro_batch 2 with gradient_accumulation 4"
  std::vector<std::string> overrides;  ///< "path=value", for --set
  result::Result result;               ///< of the scenario with them
};

/// What makes a scenario fit: by buying, and by changing settings.
struct Remedies {
  std::optional<Remedy> memory;  ///< more memory and drives, in sizes that are sold; absent: none
  std::optional<Remedy> change;  ///< of settings, parts or the system; absent: none was found
  /// A change that a program runs; absent: `change` is run by one, or none was found.
  std::optional<Remedy> runnable;
  bool whole = true;             ///< false: time was up before all changes were tried
  std::uint64_t unanswered = 0;  ///< simulations of changes that could not be done
};

/// {"words", "set", "result"}.
void to_json(nlohmann::json& json, const Remedy& remedy);
void from_json(const nlohmann::json& json, Remedy& remedy);
/// {"memory", "change", "whole", "unanswered"}.
void to_json(nlohmann::json& json, const Remedies& remedies);
void from_json(const nlohmann::json& json, Remedies& remedies);

}  // namespace spillway::answer
