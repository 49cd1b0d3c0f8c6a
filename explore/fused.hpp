#pragma once

#include "scenarios/description/scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::explore {

/// Settings of a job that cost nothing.
struct FreeSettings {
  std::string words;                   ///< "training.loss fused and training.fused_kernels true"
  std::vector<std::string> overrides;  ///< the same as "path=value"
};

/// What a trainer has from Liger Kernel: a loss that never holds whole logits, and kernels that
/// keep nothing between their operators. Nothing where the job has both.
///   overrides  "path=value" of the user, who may have named either
std::optional<FreeSettings> fused_of(const description::Scenario& scenario,
                                     const std::vector<std::string>& overrides = {});

/// Whether one of them sets the path.
bool name_path(const std::vector<std::string>& overrides, const std::string& path);

}  // namespace spillway::explore
