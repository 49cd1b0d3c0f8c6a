#pragma once

#include "answers/plan/question.hpp"
#include "reports/answer/plan.hpp"
#include "scenarios/deepspeed/export_deepspeed.hpp"

namespace spillway::answers {

/// Which system and batch trains the model fastest on the machine, and which of them DeepSpeed can
/// run?
///   model      one of the question's
///   deepspeed  how its configuration is written
///   Throws     ScenarioError: what is wrong with all that could be tried
answer::BestSettings settings(const explore::Backend& backend, const PlanQuestion& question,
                              const std::string& model, const scenarios::ExportOptions& deepspeed);

}  // namespace spillway::answers
