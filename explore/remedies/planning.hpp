#pragma once

#include "explore/outcome/outcomes.hpp"

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

}  // namespace spillway::explore
