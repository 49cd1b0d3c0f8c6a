#pragma once

#include "models/program/step_program.hpp"

namespace spillway::models {

/// Activations, and their gradients, that a pipeline stage has from its neighbours or makes for
/// them: at both ends of a boundary the same tensors in the same order. A tensor of a stage further
/// away comes through the stages between.
struct Crossings {
  std::vector<TensorId> receives_forward, sends_forward;    ///< from the stage before, to the next
  std::vector<TensorId> receives_backward, sends_backward;  ///< from the next, to the one before
};

/// Layers of a stage that follow each other in the model, and what crosses their ends.
struct StagePiece {
  Span layers;  ///< of the stage's own
  Crossings crossings;
};

/// A weight that several stages hold, each a copy: tied embeddings, T5's tables of positions.
struct TiedWeight {
  std::uint32_t weight = 0;
  std::vector<std::uint32_t> stages;  ///< ascending
};

/// What one pipeline stage computes: some layers with their part of the step, in one piece or in
/// several. Weights and tensors keep the numbers that they have in the whole, operators the layers,
/// so that what a kernel computes does not depend on the cut; `model.layers` and `program.layers`
/// are the stage's.
///   Owners  a weight that layers of several stages use belongs, in each, to the first that uses it
struct PipelineStage {
  Model model;
  StepProgram program;
  std::vector<StagePiece> pieces;
  std::vector<TiedWeight> tied;  ///< of those that this stage holds
};

/// `first_layers`: of each piece, ascending from 0. Of `stages` stages each has every so-many-th
/// piece; 0: a stage a piece.
///   Throws  ScenarioError where a tensor goes through several pieces of one stage: an encoder's
///           output, a condition that all blocks read
std::vector<PipelineStage> cut_into_stages(const Model& model, const StepProgram& program,
                                           const std::vector<std::uint32_t>& first_layers,
                                           std::size_t stages = 0);

}  // namespace spillway::models
