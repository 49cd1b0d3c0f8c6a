#pragma once

#include "answers/fit/fit.hpp"

#include <functional>
#include <span>

namespace spillway::answers {

/// A way to train, with a split of the cards and a micro-batch.
struct Candidate {
  std::string words;               ///< "zero_offload, tensor 2, micro-batch 8"
  description::Scenario scenario;  ///< resolved
  std::size_t way = 0;             ///< those of one way differ in the micro-batch only
  bool runnable = false;
  bool plans = false;  ///< tensor by tensor, which takes its time
  /// No schedule trains more; infinite: no bound; 0: a memory is too small for what is held
  /// throughout. Absent: not asked yet.
  std::optional<double> most_tokens_per_s;
};

/// What a search found.
struct Found {
  std::optional<result::Result> runnable, best;
  std::vector<std::string> unanswered;  ///< candidates that ended without a result, and why
  std::uint64_t bounded = 0, simulated = 0;
  bool lower_plans = false;  ///< nothing fits with a plan for all of the machine: others were tried
  std::vector<std::string> left_out;  ///< systems that bounds leave and nobody tried
};

/// Every way to train `job` in micro-batches of 1 to 32.
///   job        a scenario without strategy: model, machine, training, run
///   overrides  of everything that is tried
///   systems    as explore::ways_of has them
///   Throws     ScenarioError: what is wrong with the first way where it is wrong with all
std::vector<Candidate> candidates_of(const nlohmann::json& job,
                                     const std::vector<std::string>& overrides,
                                     const std::vector<std::string>& systems = {});

/// Simulates candidates in the order of their bounds, those that people can run first, until no
/// bound is 2 % above the fastest: of each way from the largest micro-batch down to the first that
/// fits. Plans are for all of the machine; plans for less are tried of the fastest, and of all
/// where nothing fits. Systems that plan for each tensor take as long as all others together: they
/// are tried where nothing else fits, in micro-batches of 4 and 1. What nobody can run gets a dozen
/// simulations.
///   only_runnable  leaves the others out
///   on_runnable    gets the fastest that people can run, before others are tried
Found search(const explore::Backend& backend, std::span<const Candidate> candidates,
             bool only_runnable, const std::function<void(const Found& so_far)>& on_runnable = {});

}  // namespace spillway::answers
