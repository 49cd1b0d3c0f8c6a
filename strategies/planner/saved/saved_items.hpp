#pragma once

#include "models/program/step_program.hpp"

#include <span>
#include <vector>

/// What a planner of activations chooses from, as numbers.
namespace spillway::strategies {

/// Saved tensors of one block that stay, leave or are made again together, since one kernel makes
/// them; or a block's input.
struct SavedItem {
  std::uint64_t bytes = 0;
  double again_s = 0;                  ///< to make it again while its sources are there
  bool recomputable = true;            ///< false: another block makes it
  double last_forward_s = 0;           ///< end of the last forward kernel that touches it
  double first_backward_s = 0;         ///< beginning of the first backward kernel that does
  std::vector<std::uint32_t> sources;  ///< items before it, of its block, that it is made from
  std::uint32_t layer = 0;
  std::vector<models::TensorId> tensors;  ///< may be empty in problems that no model is behind
};

/// All items of a step's blocks in the order in which they are made.
///   operator_s  what each operator of the program takes
///   inputs      of blocks, which may leave though nobody makes them again
std::vector<SavedItem> saved_items(const models::Model& model, const models::StepProgram& program,
                                   std::span<const double> operator_s,
                                   std::span<const models::TensorId> inputs);

}  // namespace spillway::strategies
