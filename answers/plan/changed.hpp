#pragma once

#include "answers/plan/question.hpp"
#include "explore/remedies/free_settings.hpp"

#include <nlohmann/json_fwd.hpp>

namespace spillway::answers {

/// The trials of a question; `with`: what its overrides set besides, for their words, such as
/// ", training.loss fused".
using TrialsOf = std::function<std::vector<answer::Trial>(const PlanQuestion& question,
                                                          const std::string& with)>;

/// What makes the gradients of a way smaller that DeepSpeed can run, as
/// explore::less_memory_of; nothing of other ways.
///   base       what trials override
///   overrides  the way's, "strategy={...}" first, and all others
///   asked      those of the user, which stay
std::vector<explore::FreeSettings> less_memory_of(const nlohmann::json& base,
                                                  const std::vector<std::string>& overrides,
                                                  const std::vector<std::string>& asked);

/// Of trials those that DeepSpeed can run, with each of less_memory_of: what is tried where
/// such a way has no room.
std::vector<answer::Trial> with_less_memory(const PlanQuestion& question,
                                            const nlohmann::json& base,
                                            const std::vector<answer::Trial>& trials);

/// What is tried where nothing has room: the trials of the same question with free_changes, in
/// their rounds, and in each also those with smaller gradients.
///   base    what trials override
///   trials  of the question as it is; none, where all of them are refused
std::vector<std::vector<answer::Trial>> changed_trials(const PlanQuestion& question,
                                                       const nlohmann::json& base,
                                                       const std::vector<answer::Trial>& trials,
                                                       const TrialsOf& trials_of);

}  // namespace spillway::answers
