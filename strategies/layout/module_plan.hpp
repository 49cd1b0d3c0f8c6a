#pragma once

#include "strategies/layout/layer_plan.hpp"

namespace spillway::strategies {

/// Cuts the passes of `plans` where a module ends: a block's attention, its cross-attention, its
/// MLP, each up to the addition to the residual stream; other layers are one module. In backward a
/// module begins with the first kernel that reads what it saved. Fills LayerPlans::modules, the
/// segments' modules, what they need and release, and orders LayerPlans::moved as it is saved: a
/// tensor belongs to the module that saves it first.
///   Source  SSDTrain, section III-B (a tensor is charged to the innermost scope); which modules
///           these are is assumed
void cut_into_modules(LayerPlans& plans, const models::Model& model,
                      const models::StepProgram& program);

/// What `module` is the first to save of what can leave the GPU.
std::uint64_t saved_bytes(const LayerPlans& plans, const Module& module);

}  // namespace spillway::strategies
