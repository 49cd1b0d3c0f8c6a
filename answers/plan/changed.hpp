#pragma once

#include "answers/plan/question.hpp"

#include <nlohmann/json_fwd.hpp>

namespace spillway::answers {

/// The trials of a question; `with`: what its overrides set besides, for their words, such as
/// ", training.loss fused".
using TrialsOf = std::function<std::vector<answer::Trial>(const PlanQuestion& question,
                                                          const std::string& with)>;

/// What is tried where nothing has room: the trials of the same question with free_changes, in
/// their rounds.
///   base    what trials override
///   trials  of the question as it is; none, where all of them are refused
std::vector<std::vector<answer::Trial>> changed_trials(const PlanQuestion& question,
                                                       const nlohmann::json& base,
                                                       const std::vector<answer::Trial>& trials,
                                                       const TrialsOf& trials_of);

}  // namespace spillway::answers
