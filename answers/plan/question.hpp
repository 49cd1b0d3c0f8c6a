#pragma once

#include "explore/trials/trials.hpp"
#include "explore/trials/ways.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// Micro-batches that are tried where nobody names others.
inline const std::vector<std::uint64_t> usual_batches = {1, 2, 4, 8, 16, 32};

/// How one may train: which parts, and how the samples of a step are split.
struct WayOptions {
  std::vector<std::string> systems, mixes;  ///< explore::ways_of
  std::vector<std::uint64_t> batches = usual_batches, accumulations = {1};
  std::uint64_t global_batch = 0;  ///< samples of a step; 0: whatever the others make
  bool runnable = false;           ///< only what a maintained program trains

  /// Whether others, between those, may be tried: nobody named any, nor how many samples they make.
  bool any_batch() const { return global_batch == 0 && batches == usual_batches; }
  /// Whether a step has one micro-batch because nobody said how many.
  bool one_micro_batch() const {
    return global_batch == 0 && accumulations == std::vector<std::uint64_t>{1};
  }
};

/// What the questions about one machine have in common.
struct PlanQuestion : WayOptions {
  nlohmann::json machine;  ///< a machine file, or its name
  std::string shown_by;    ///< description::MachineFile::shown_by of a machine file
  std::vector<std::string> models;
  std::string precision = "bf16_mixed";
  std::optional<std::uint64_t> sequence;  ///< tokens of a sample; absent: sample_tokens
  std::vector<std::string> overrides;     ///< "path=value" of everything that is tried
  std::optional<double> tokens;           ///< of the finished run
  bool range = false;                     ///< how far headline numbers may be off
  std::string today;                      ///< "2026-11-22": prices a year older are named; "": none
};

/// Told of what is looked at now: "contexts of gpt2".
using Progress = std::function<void(const std::string& what)>;

/// Whether something that people can run trains so; true without --runnable, and where the way is
/// refused, of which whoever simulates it says what is wrong.
///   split      what it sets of `parallel`
///   overrides  the user's
bool may_run(const WayOptions& options, const nlohmann::json& base, const explore::Way& way,
             const std::vector<std::string>& split, const std::vector<std::string>& overrides);

/// Of ways that overrides make the same the first; without those that no maintained program trains,
/// where `options` ask for that.
///   base       a scenario that names a machine; how its parts differ from those of a way decides
///   overrides  the user's
///   Throws     ScenarioError when none is left; when an override names a system
std::vector<explore::Way> runnable_ways(const WayOptions& options, const nlohmann::json& base,
                                        const std::vector<std::string>& overrides);

/// A way that the cards of a machine share the work, as overrides of `parallel`.
struct Split {
  std::string name;  ///< explore::CardSplit::name
  std::vector<std::string> overrides;
  std::uint64_t data = 1;
};
/// By data and every other way; nothing to choose where an override says how.
std::vector<Split> splits_of(const PlanQuestion& question);

/// How the samples of a step are split on one of `data` batches.
struct BatchSplit {
  std::string name;                    ///< ", micro-batch 4 x 2"
  std::vector<std::string> overrides;  ///< of `training`
};
std::vector<BatchSplit> batches_of(const WayOptions& options, std::uint64_t data);

/// Of a sample, in tokens: what is asked for, else 4096, or the most that the model takes.
std::uint64_t sample_tokens(const std::optional<std::uint64_t>& asked, const std::string& model);

/// What trials override: a scenario with the model on the machine.
nlohmann::json plan_base(const PlanQuestion& question, const std::string& model);

/// Adds what the user overrides to each of them.
void add_overrides(std::vector<answer::Trial>& trials, const PlanQuestion& question);

/// Simulates them; what is wrong with all of them is an error.
void try_or_refuse(const explore::Backend& backend, const nlohmann::json& base,
                   std::vector<answer::Trial>& trials);

/// Simulates what was ruled out by its bound.
void try_one(const explore::Backend& backend, const nlohmann::json& base, answer::Trial& trial,
             answer::TrialCounts& counts);

/// Of trials one after the other that are refused, all but the first are taken out: what a model or
/// a machine does not allow is no result of trying.
void keep_first_refusal(std::vector<answer::Trial>& trials);

/// How many of the machine's numbers nobody states, apart from those that were chosen.
///   shown_by  description::MachineFile::shown_by; "": not known
answer::Certainty certainty_of(const result::Result& result, const std::string& shown_by);

/// Of a question without a scenario also what is assumed of the trainer.
answer::Certainty certainty_without_scenario(const result::Result& result,
                                             const std::string& shown_by);

/// What `spillway machine` shows the machine of a question by.
std::string shown_by(const PlanQuestion& question);

/// Adds to a result that fits how far its headline numbers may be off.
void add_range(const explore::Backend& backend, result::Result& result);

/// Of the machine of the result: prices that are old on that day, in a sentence; "": none is.
std::string old_prices_of(const result::Result& result, const std::string& today);

}  // namespace spillway::answers
