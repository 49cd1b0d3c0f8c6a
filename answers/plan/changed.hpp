#pragma once

#include "answers/plan/question.hpp"

#include <nlohmann/json_fwd.hpp>

namespace spillway::answers {

/// A question with settings besides that cost nothing.
struct ChangedQuestion {
  std::string words;  ///< of its trials: ", training.loss fused"
  PlanQuestion question;
};

/// What is tried where nothing has room: the same question with free_changes, in their rounds.
///   base    what trials override
///   trials  of the question as it is; none, where all of them are refused
std::vector<std::vector<ChangedQuestion>> changed_questions(
    const PlanQuestion& question, const nlohmann::json& base,
    const std::vector<answer::Trial>& trials);

}  // namespace spillway::answers
