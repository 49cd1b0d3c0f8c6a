#pragma once

#include "strategies/decide/decide.hpp"
#include "strategies/planner/saved/saved_items.hpp"

/// `activations.policy` plan in a schedule that streams layers: `activations.planner` gives each
/// saved tensor its fate before the run.
namespace spillway::strategies {

/// What a planner may use, and what it may choose from.
struct SavedProfile {
  std::vector<SavedItem> items;
  std::vector<double> operator_s;  ///< by operator of the program
  double forward_s = 0;
  std::uint64_t peak_bytes = 0;      ///< of a GPU, if everything stayed there
  std::uint64_t capacity_bytes = 0;  ///< of a GPU
  std::uint64_t need = 0;            ///< bytes that must leave it
};

/// What a step with everything on the GPU takes of time and memory: kernels one after the other,
/// as long as the machine's rates say, and a counting run.
SavedProfile profile_saved(const description::Scenario& scenario, const Prepared& prepared,
                           const Probe& probe);

/// The plan of `activations.planner`.
///   flashneuron  as many tensors to the drives as make the rest fit, the first made first
///   capuchin     keep, host memory or again, by free time and cost
///   checkmate    keep, again or host memory, the shortest plan for a block
///   g10          keep, drives or host memory, by the pressure that an absence takes away and its
///                cost
DecidedFates plan_fates(const description::Scenario& scenario, const Prepared& prepared,
                        const Probe& probe);

}  // namespace spillway::strategies
