#pragma once

#include "answers/plan/question.hpp"
#include "cli/method_options.hpp"
#include "cli/monitor.hpp"
#include "cli/prices.hpp"
#include "cli/run_options.hpp"

#include <CLI/CLI.hpp>

namespace spillway::cli {

/// --system, --mix and --runnable.
void add_way_options(CLI::App& verb, answers::WayOptions& options);
/// --micro-batch, --accumulation and --global-batch.
void add_batch_options(CLI::App& verb, answers::WayOptions& options);

/// Seconds after which the best so far is the answer.
inline constexpr double plan_limit_s = 600;
inline constexpr const char* plan_limit_help =
    "seconds after which what was found so far is the answer; else 600";

inline constexpr const char* sequence_help =
    "tokens of a sample; else 4096, or the most that the model takes";

/// What the questions about one machine have in common.
struct PlanOptions : answers::WayOptions {
  std::string machine, precision = "bf16_mixed";
  std::vector<std::string> models, overrides;
  std::optional<std::uint64_t> sequence;
  double limit_s = plan_limit_s;
  RunOptions run;
  MethodOptions method;
  PriceOptions prices;
  bool json = false;
};

/// The options of PlanOptions but --set and --json, which stand last.
void add_plan_options(CLI::App& verb, PlanOptions& options);
void add_plan_ending(CLI::App& verb, PlanOptions& options);

/// The question that the options ask, at the prices that are asked for.
///   Throws  ScenarioError
answers::PlanQuestion question_of(const PlanOptions& options);

/// Says that the answer is not whole, after it was printed, and why.
///   found   whether there is one: else nobody knows whether there would be
///   Throws  CLI::RuntimeError after Ctrl-C, with its exit code, and where time was up before
///           anything was found
void finish(const Monitor& monitor, const answer::TrialCounts& counts, bool found, bool as_json);

void print_paragraph(const std::string& text);

/// `plan drives`, `plan machine` and `plan settings`, below `plan`.
void add_plan_drives(CLI::App& plan);
void add_plan_machine(CLI::App& plan);
void add_plan_settings(CLI::App& plan);

}  // namespace spillway::cli
