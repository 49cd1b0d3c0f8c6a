#pragma once

#include "explore/remedies/planning.hpp"
#include "reports/answer/remedy.hpp"

namespace spillway::explore {

using answer::Remedy;

/// The least memory and drives with which a scenario fits as it is, in sizes that are sold: every
/// tier that `result` says is too small gets the next size that holds its need. What was found is
/// simulated, and where a plan wants more than that the next size is tried.
///   result  of the scenario, with its needs
///   Result  nothing when it fits already, when no size that is sold does, or when GPU and host
///           share one memory, which comes with the machine
std::optional<Remedy> more_memory(const Backend& backend, const description::Scenario& scenario,
                                  const result::Result& result, const Resolve& resolve);

/// A setting with which the cards are large enough, and the host memory and drives that it then
/// needs: the fastest. For a scenario to which more_memory gives cards with more memory, which are
/// other cards.
///   Result  nothing where there is none
std::optional<Remedy> more_memory_beside_its_cards(const Backend& backend,
                                                   const description::Scenario& scenario,
                                                   const Resolve& resolve);

/// The least size of host memory, of a GPU's memory, that is sold and holds `bytes`; 0: none does.
std::uint64_t sold_host_memory(std::uint64_t bytes);
std::uint64_t sold_gpu_memory(std::uint64_t bytes);

}  // namespace spillway::explore
