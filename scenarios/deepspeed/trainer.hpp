#pragma once

#include "reports/text/text.hpp"
#include "scenarios/description/scenario.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spillway::scenarios {

/// Keys of `training` that the trainer's own code decides and no DeepSpeed configuration says.
const std::vector<std::string>& trainer_keys();

/// What is assumed of a trainer of which nothing is stated, as keys of `training`: it has no fused
/// kernels, and its loss holds whole logits. A configuration is imported so, and what is asked
/// about without a scenario is computed so: then any trainer can run the answer.
nlohmann::json plain_trainer();

/// `training` of a plain trainer, of samples of `sequence` tokens.
nlohmann::json plain_training(const std::string& precision, std::uint64_t sequence);

/// Bytes of a logit that a plain loss holds.
text::Number plain_logit();

/// What a trainer must bring where `key` of trainer_keys() has this value: "training.loss: fused,
/// which the trainer must bring, ...".
text::Text trainer_must_bring(const std::string& key, const nlohmann::json& value);

/// Of an answer to a question without a scenario: what was assumed of the trainer's loss and
/// kernels, and how to ask for the other, in a sentence without its full stop. "" for a diffusion
/// transformer, which has no logits.
text::Text assumed_of_trainer(const description::Scenario& scenario);

}  // namespace spillway::scenarios
