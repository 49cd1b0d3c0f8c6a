#pragma once

#include "explore/remedies/planning.hpp"
#include "reports/answer/remedy.hpp"

namespace spillway::explore {

using answer::Remedy;

/// Changes that make a scenario fit.
struct FittingChanges {
  std::optional<Remedy> best;      ///< of all that was tried; nothing: none helps
  std::optional<Remedy> runnable;  ///< of those that a program runs; may be `best`
};

/// Looks for the changes that cost the fewest tokens per second, in groups, those first that ask
/// least of a user: settings of the scenario's own system (smaller sub-groups, another share of the
/// update on the GPU, weights and states on drives or the GPU, more checkpointing, sequence
/// parallelism, a higher ZeRO stage, a fused loss and kernels, smaller micro-batches of the same
/// samples a step), smaller parts of it, pairs of its settings, pairs with its parts. A later group
/// takes the place of an earlier one where it is faster by a tenth; none follows one whose best a
/// program runs with hardly any loss. Other systems come last, where nothing else helps, or those
/// that a program runs where it runs nothing of what does.
///   without_loss  tokens per second where there is room enough; 0: not known
FittingChanges fitting_changes(const Backend& backend, const description::Scenario& scenario,
                               const Resolve& resolve, double without_loss = 0);

}  // namespace spillway::explore
