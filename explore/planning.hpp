#pragma once

#include "explore/outcomes.hpp"
#include "reports/answer/remedy.hpp"

#include <functional>

namespace spillway::explore {

/// Resolves the scenario at hand with further overrides ("path=value"); nothing when they do not go
/// together.
using Resolve =
    std::function<std::optional<description::Scenario>(const std::vector<std::string>& overrides)>;

/// What `read` reads, whatever else stays; nothing where it throws a ScenarioError.
Resolve resolving(
    std::function<description::Scenario(const std::vector<std::string>& overrides)> read);

/// Simulates what each next piece of hardware would bring: one more drive, a faster link, a faster
/// CPU, a faster GPU.
///   Result  by name, for FORMATS' bottleneck.next
std::map<std::string, result::WhatIf> what_next(const Backend& backend,
                                                const description::Scenario& scenario,
                                                const Effort& effort = {});

/// A result with what each next piece of hardware would bring to its scenario.
result::Result with_what_ifs(const Backend& backend, result::Result result);

using answer::Remedy;

/// The change that makes the scenario fit with the most tokens per second, of the first of these
/// groups in which any does: settings of its own system (smaller sub-groups, another share of the
/// update on the GPU, more checkpointing, sequence parallelism, a higher ZeRO stage, a fused loss
/// and kernels, smaller micro-batches of the same samples a step), pairs of them, smaller parts of
/// its own system, pairs with them, another system, pairs with it.
///   Result  nothing when none of them helps
std::optional<Remedy> cheapest_remedy(const Backend& backend, const description::Scenario& scenario,
                                      const Resolve& resolve);

/// The fastest of other systems that a program runs, alone or with a setting: for who cannot act on
/// a remedy that only spillway runs.
///   Result  nothing when none of them helps
std::optional<Remedy> runnable_remedy(const Backend& backend, const description::Scenario& scenario,
                                      const Resolve& resolve);

}  // namespace spillway::explore
