#pragma once

#include "models/architecture/model.hpp"
#include "scenarios/description/training.hpp"

namespace spillway::models {

/// `model` as a training's method trains it. With adapters all its weights are frozen, and behind
/// each matrix that is a target stand the two of its adapter, with lora.dora its magnitudes too,
/// named as PEFT has them; else what
/// `training.frozen` names is frozen. Of method full the model itself.
///   training.lora.targets  a name is the end of a module's name, whole words between dots
///   training.frozen        a name is any run of such words of a weight's name
///   Throws  ScenarioError: a name that fits no matrix of a block, or no weight; half a module, or
///           some of a layer's experts; everything frozen
Model as_trained(Model model, const description::Training& training);

}  // namespace spillway::models
