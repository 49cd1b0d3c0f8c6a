#pragma once

#include "strategies/layer_plan.hpp"
#include "strategies/machine.hpp"
#include "strategies/parts/weights.hpp"

namespace spillway::strategies {

/// Where the areas of a layer's plan lie at the moment.
struct LayerOperands {
  const GatheredWeights* weights = nullptr;
  const std::vector<View>* gradients = nullptr;  ///< parallel to LayerPlan::weights
  const std::vector<bool>* fresh = nullptr;      ///< parallel to gradients: no sum to add to
  View saved, transient, logits, scratch;
  const std::vector<Buffer>* hidden = nullptr;  ///< by index into LayerPlans::hidden
  ElementType type = ElementType::fp32;         ///< of weights and gradients
  Numbers numbers{};
};

/// Issues one pass of a layer on the rank's compute stream: kernels in order, cut by the
/// all-reduces of tensor-parallel ranks.
///   after       what the first kernel waits for, beside the layer's weights
///   as_they_come   kernels wait for their own weights' copies only, but all of them for the
///   layer's storage reads
///                  (weights.overlap false); else the first kernel waits for the whole layer
///   Result      the last operation of the pass
Op issue_pass(Machine& machine, Rank rank, Group tensor_group, const PassPlan& pass,
              const LayerOperands& operands, std::vector<Op> after, bool as_they_come);

}  // namespace spillway::strategies
