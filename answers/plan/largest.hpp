#pragma once

#include "answers/plan/question.hpp"
#include "reports/answer/plan.hpp"

namespace spillway::answers {

/// Which of these models is the largest that fits on the machine, and its longest context and
/// largest batch?
///   question  models: the beginning of several shipped names ("qwen2.5") stands for all of them;
///             accumulations: the first is that of every step
///   Throws    ScenarioError: what is wrong with all that could be tried
answer::Largest largest(const explore::Backend& backend, PlanQuestion question,
                        const Progress& progress = {});

/// How the files of these models were read, where they leave something open: "mine.json: Not in the
/// file: vocab_size ...".
///   models  as in the question
///   Throws  ScenarioError
std::vector<std::string> notes_of_models(const std::vector<std::string>& models);

}  // namespace spillway::answers
