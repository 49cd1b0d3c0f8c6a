#pragma once

#include "answers/fit/search.hpp"

namespace spillway::answers {

/// What does not fit, and what would make it fit.
struct Needs {
  std::vector<FitNeed> ways;  ///< the cheapest to make fit first
  std::optional<FitChange> change;
  std::optional<result::Result> fastest;  ///< what one would run with the change
  std::uint64_t bounded = 0;              ///< candidates on the box of the change
};

/// The candidates with more overrides, as candidates_of has them.
///   Throws  ScenarioError
using CandidatesWith =
    std::function<std::vector<Candidate>(const std::vector<std::string>& overrides)>;

/// "zero_offload, micro-batch 4", of a result.
///   way  with the parts that it swaps, as Found has it; "" for none
std::string way_and_batch(const result::Result& result, const std::string& way = "");

/// Asks of each way what it would need of every tier in its smallest micro-batch, with what makes
/// its gradients smaller, then buys for the few that need least: memory in sizes that the board
/// takes, else the cheapest board that does; drives while there are places; the cheapest card of
/// the same form that has the memory. What it buys is simulated; of the cheapest box the fastest
/// way and micro-batch is the answer.
///   candidates       of which those are asked that people can run; all where there are none
///   candidates_with  empty: nothing is bought
///   simulated        grows by the scenarios that were simulated
Needs needs_of(const explore::Backend& backend, const std::vector<Candidate>& candidates,
               const CandidatesWith& candidates_with, std::uint64_t& simulated);

/// Of ways that people can run, but for the system of the answer, and that keep the optimizer's
/// states in host memory: those whose smallest micro-batch does not fit, each with the buffer that
/// finds no room and how much memory is enough. What estimators and their users take to fit.
///   simulated  grows by the scenarios that were simulated, without the boxes with more memory
std::vector<text::Text> passed_over(const explore::Backend& backend,
                                    const std::vector<Candidate>& candidates,
                                    const std::string& system, std::uint64_t& simulated);

}  // namespace spillway::answers
