#pragma once

#include "answers/plan/question.hpp"
#include "reports/answer/plan.hpp"

namespace spillway::answers {

/// Which of these models is the largest that fits on the machine, and its longest context and
/// largest batch?
///   question  models: the beginning of several shipped names ("qwen2.5") stands for all of them
///   Throws    ScenarioError: what is wrong with all that could be tried
answer::Largest largest(const explore::Backend& backend, PlanQuestion question,
                        const Progress& progress = {});

}  // namespace spillway::answers
