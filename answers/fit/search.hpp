#pragma once

#include "answers/fit/candidates.hpp"
#include "answers/fit/fit.hpp"

#include <functional>
#include <set>
#include <span>

namespace spillway::answers {

/// What a search found.
struct Found {
  std::optional<result::Result> runnable, best;
  std::string runnable_way, best_way;   ///< as FitAnswer has them
  std::vector<std::string> unanswered;  ///< candidates that ended without a result, and why
  std::uint64_t bounded = 0, simulated = 0;
  bool lower_plans = false;  ///< nothing fits with a plan for all of the machine: others were tried
  std::set<std::string> left_out;         ///< systems that bounds leave and nobody tried
  std::set<std::string> partly_left_out;  ///< of which ways are left that nobody tried
};

/// Simulates candidates in the order of their bounds, those that people can run first, until no
/// bound is 2 % above the fastest: of each way from the largest micro-batch down to the first that
/// fits, then half a dozen between it and the next larger one, where steps that take no longer
/// would make the way 2 % faster than the fastest; of the fastest that people can run smaller ones
/// too, as long as they are faster. A way that takes another's place waits until that has no room.
/// Plans are for all of the machine; plans for less are tried of the fastest, and of all where
/// nothing fits. Systems that plan for each tensor take as long as all others together: they are
/// tried where nothing else fits, in micro-batches of 4 and 1. What nobody can run gets a dozen
/// simulations and that half a dozen, and then up to sixteen for the most promising ways of systems
/// that have not fitted yet. Weights of the fastest that people can run wait in host memory that
/// would be idle (explore::idle_host_of), where that makes it faster: it costs a setting.
///   only_runnable  leaves the others out
///   on_runnable    gets the fastest that people can run, before others are tried
Found search(const explore::Backend& backend, std::span<const Candidate> candidates,
             bool only_runnable, const std::function<void(const Found& so_far)>& on_runnable = {});

}  // namespace spillway::answers
