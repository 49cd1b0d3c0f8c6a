#pragma once

#include "models/program/step_program.hpp"
#include "reports/answer/model.hpp"

#include <string>

namespace spillway::answers {

/// What is this model made of?
struct ModelQuestion {
  std::string model;  ///< a name of models/library or of the Hugging Face Hub, a config.json
  models::Workload workload;
  std::uint64_t sequence = 0;  ///< tokens of a sample; 0: 1024, or as many as the model takes
  models::ExpertLayout experts = models::ExpertLayout::stacked;
  bool activations = false;  ///< of every layer, tensor by tensor
};

/// Throws  ScenarioError: no such model; experts that it does not have
answer::ModelCard model(const ModelQuestion& question);

}  // namespace spillway::answers
