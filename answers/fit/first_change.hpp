#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// What people change first, before they look for what else to buy.
struct FirstChange {
  std::string words;             ///< "training.loss fused, such as Liger Kernel's"
  std::vector<std::string> set;  ///< "path=value" on the job
  std::string setting;           ///< what is set, alone: "training.loss fused"
};

/// A loss that never holds whole logits and kernels that keep nothing between their operators,
/// and other experts beside them, as explore::fused_of; none where the job has them.
///   overrides  the user's, which stay
std::vector<FirstChange> fused_changes_of(const description::Scenario& now,
                                          const std::vector<std::string>& overrides);

/// Settings that cost nothing: fused_changes_of, where long samples keep what backward needs, and
/// over how many GPUs one of them goes.
///   overrides  the user's, which stay
///   Result     in rounds: each of them alone, then those for long samples beside fused kernels
std::vector<std::vector<FirstChange>> free_changes(const description::Scenario& now,
                                                   const std::vector<std::string>& overrides);

/// Of adapters on a base in 4 or 8 bits: the same on one in 16 bits, which systems that move
/// weights take as well; none where the base has them, or the user says which base it is.
///   Result  in rounds: alone, then beside fused_changes_of
std::vector<std::vector<FirstChange>> plain_base_changes(description::Scenario now,
                                                         const std::vector<std::string>& overrides);

/// A drive where the machine has none, as the systems that need one are not among the candidates:
/// the first of the catalogue that its board takes.
std::optional<FirstChange> first_drive(const description::Scenario& now);

}  // namespace spillway::answers
