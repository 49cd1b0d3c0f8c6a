#pragma once

#include "explore/trials/trials.hpp"
#include "scenarios/deepspeed/export_deepspeed.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// A trial as a configuration of DeepSpeed, and what DeepSpeed does with it.
struct Configuration {
  const answer::Trial* trial = nullptr;  ///< nullptr: DeepSpeed can run none of those that fit
  scenarios::Exported exported;
  /// Of the file, imported again and simulated: its knobs that DeepSpeed lacks are DeepSpeed's own.
  std::optional<result::Result> result;
  std::string refusal;  ///< why it is not the fastest trial's
};

/// The configuration with most tokens a second among those of the trials that fit; what comes back
/// from a file must fit too.
Configuration fastest_configuration(const explore::Backend& backend,
                                    const std::vector<answer::Trial>& trials,
                                    const scenarios::ExportOptions& options);

/// DeepSpeed has a configuration near `overrides` of `base`.
bool deepspeed_can(const nlohmann::json& base, const std::vector<std::string>& overrides);

}  // namespace spillway::answers
