#pragma once

#include "cli/monitor.hpp"
#include "cli/prices.hpp"
#include "cli/run_options.hpp"
#include "explore/trials.hpp"
#include "explore/ways.hpp"

#include <CLI/CLI.hpp>

namespace spillway::cli {

/// How one may train: which parts, and how the samples of a step are split.
struct WayOptions {
  std::vector<std::string> systems, mixes;
  std::vector<std::uint64_t> batches = {1, 2, 4, 8, 16, 32}, accumulations = {1};
  std::uint64_t global_batch = 0;  ///< samples of a step; 0: whatever the others make
  bool runnable = false;           ///< only what a maintained program trains
};

using explore::Way;

/// Those that the options ask for: explore::ways_of.
std::vector<Way> ways_of(const WayOptions& options);

/// Without those that no maintained program trains, where `options` ask for that.
///   base       a scenario that names a machine; how its parts differ from those of a way decides
///   overrides  the user's
///   Throws     ScenarioError when none is left
std::vector<Way> runnable_ways(const WayOptions& options, const nlohmann::json& base,
                               const std::vector<std::string>& overrides);

/// --system, --mix and --runnable.
void add_way_options(CLI::App& verb, WayOptions& options);
/// --micro-batch, --accumulation and --global-batch.
void add_batch_options(CLI::App& verb, WayOptions& options);

/// Seconds after which the best so far is the answer.
inline constexpr double plan_limit_s = 600;
inline constexpr const char* plan_limit_help =
    "seconds after which what was found so far is the answer; else 600";

/// What the questions about one machine have in common.
struct PlanOptions : WayOptions {
  std::string machine, precision = "bf16_mixed";
  std::vector<std::string> models, overrides;
  std::uint64_t sequence = 4096;
  double limit_s = plan_limit_s;
  RunOptions run;
  PriceOptions prices;
  bool json = false;
};

/// How the cards of a machine share the work: each has a batch of its own, or those of a node work
/// on one layer or are the stages of a pipeline; nothing to choose where an override says how.
struct Split {
  std::string name;                    ///< ", pipeline 2"; "" for batches of their own
  std::vector<std::string> overrides;  ///< of `parallel`
  std::uint64_t data = 1;
};
std::vector<Split> splits_of(const PlanOptions& options);

/// How the samples of a step are split on one of `data` batches.
struct BatchSplit {
  std::string name;                    ///< ", micro-batch 4 x 2"
  std::vector<std::string> overrides;  ///< of `training`
};
std::vector<BatchSplit> batches_of(const WayOptions& options, std::uint64_t data);

/// The options of PlanOptions but --set and --json, which stand last.
void add_plan_options(CLI::App& verb, PlanOptions& options);
void add_plan_ending(CLI::App& verb, PlanOptions& options);

/// What trials override: a scenario with the model on the machine, at the prices that are asked
/// for.
nlohmann::json plan_base(const PlanOptions& options, const std::string& model);

/// Adds what the user overrides to each of them.
void add_overrides(std::vector<explore::Trial>& trials, const PlanOptions& options);

/// {"words", "reason", "ruled_out", "result"}.
nlohmann::json trial_json(const explore::Trial& trial);
nlohmann::json trials_json(const std::vector<explore::Trial>& trials);
nlohmann::json counts_json(const explore::TrialCounts& counts);

/// What was tried, a line each; "" when nothing was.
std::string evidence(const std::vector<explore::Trial>& trials);

/// The finished run, the ranges and the old prices of an answer: what stands below it. Adds the
/// ranges that are asked for to the result first.
void print_around(const RunOptions& options, result::Result result);

/// "1,234 (1,000 to 1,400) tokens/s", with the ranges that are asked for.
std::string rate_words(const result::Result& result);

/// Whether their lines differ in what was tried, and in how long drives last, only.
bool reads_the_same(const result::Result& one, const result::Result& other);

/// Simulates them; what is wrong with all of them is an error.
void try_or_refuse(const explore::Backend& backend, const nlohmann::json& base,
                   std::vector<explore::Trial>& trials);

/// Simulates what was ruled out by its bound.
void try_one(const explore::Backend& backend, const nlohmann::json& base, explore::Trial& trial,
             explore::TrialCounts& counts);

/// Of trials one after the other that are refused, all but the first are taken out: what a model or
/// a machine does not allow is no result of trying.
void keep_first_refusal(std::vector<explore::Trial>& trials);

/// Says that the answer is not whole, after it was printed, and why.
///   Throws  CLI::RuntimeError after Ctrl-C, with its exit code
void finish(const Monitor& monitor, const explore::TrialCounts& counts, bool as_json);

/// "9 simulated; 3 of 12 ruled out by bounds, which no schedule can beat."
std::string counts_words(const explore::TrialCounts& counts);

/// How sure an answer is: how many of the machine's numbers nobody states, apart from those that
/// were chosen, and where to see which.
std::string certainty(const result::Result& result);

void print_paragraph(const std::string& text);

/// `plan drives`, `plan machine` and `plan settings`, below `plan`.
void add_plan_drives(CLI::App& plan);
void add_plan_machine(CLI::App& plan);
void add_plan_settings(CLI::App& plan);

}  // namespace spillway::cli
