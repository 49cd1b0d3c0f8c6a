#pragma once

#include "strategies/decide/probe.hpp"
#include "strategies/planner/saved/swap_planner.hpp"

#include <nlohmann/json_fwd.hpp>

/// `activations.policy` swap: LoHan's plan for a scenario.
namespace spillway::strategies {

/// What a plan was made of, and what it says.
struct SwapChoice {
  SwapProblem problem;
  SwapPlan plan;
  ActivationPlan activations;
};

/// The scenario in the planner's terms.
///   Profile   rates are the machine file's, which `probe` measures; host_bytes is what a counting
///             run that swaps nothing leaves of host memory, less the staging of what spills: of
///             the tensors in the order in which they are taken those that it holds, rounded
///   Micro-batches   the last one, under which gradients are updated, stands for all
SwapProblem swap_problem(const description::Scenario& scenario, const Prepared& prepared,
                         const Probe& probe);

/// The plan of `activations.swap_bytes` (auto: the best; all; or the nearest to a size) and where
/// each tensor goes: to the homes named in `activations.homes`, host memory first. What spills to
/// the drives is spread over the layers, so that it spreads over the step.
///   activations.order      offloading_benefit, or layer
///   activations.min_swap   inter_block: inputs of blocks are swapped in any case; none: they stay
///                          on the GPU, and what is swapped begins with the best item
SwapChoice choose_swap(const description::Scenario& scenario, const Prepared& prepared,
                       const Probe& probe);

/// Whether a step finds room on the GPU, in host memory without end, that swaps no more than it has
/// to and computes the rest again, or else one that swaps all. Each has all that backward needs of
/// a block on the GPU at once: where neither fits, no plan between them does.
bool some_swap_fits_gpu(const description::Scenario& scenario, const Prepared& prepared,
                        const Probe& probe);

/// Result::plan: swap_bytes between least_bytes and most_bytes, recompute_flops, case of a rank and
/// micro-batch, and what was predicted.
nlohmann::json swap_report(const SwapChoice& choice, const models::StepProgram& program);

}  // namespace spillway::strategies
