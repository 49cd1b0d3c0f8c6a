#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/text/text.hpp"
#include "scenarios/deepspeed/deepspeed_keys.hpp"
#include "scenarios/deepspeed/deepspeed_version.hpp"

namespace spillway::scenarios {

/// The largest norm of a step's gradients; 0: they are not clipped. "auto" follows the trainer,
/// whose own is 1.
///   Source  DeepSpeed runtime/constants.py; Hugging Face's TrainingArguments, max_grad_norm
double gradient_clipping(DeepSpeedKeys& keys, const DeepSpeedVersion& version);

/// Who updates.
struct Updaters {
  std::uint64_t ranks = 1;  ///< that have the same weights
  bool zenflow = false;
};

/// What a configuration trains with.
struct OptimizerFound {
  std::string kind;                 ///< training.optimizer
  std::string stands_for;           ///< that it does so in place of another; "": it does not
  double gradient_clipping = 0;     ///< training.gradient_clipping
  std::vector<text::Text> notes{};  ///< what DeepSpeed does, and the simulation does not
};
OptimizerFound read_optimizer(DeepSpeedKeys& keys, const DeepSpeedVersion& version,
                              const Updaters& updaters);

}  // namespace spillway::scenarios
