#pragma once

#include "explore/trials.hpp"

#include <CLI/CLI.hpp>

namespace spillway::cli {

/// What the questions about one machine have in common.
struct PlanOptions {
  std::string machine, precision = "bf16_mixed";
  std::vector<std::string> models, systems, overrides;
  std::uint64_t sequence = 4096;
  bool json = false;
};

/// The options of PlanOptions but --set and --json, which stand last.
void add_plan_options(CLI::App& verb, PlanOptions& options);
void add_plan_ending(CLI::App& verb, PlanOptions& options);

/// What trials override: a scenario with the model on the machine.
nlohmann::json plan_base(const PlanOptions& options, const std::string& model);

/// Adds what the user overrides to each of them.
void add_overrides(std::vector<explore::Trial>& trials, const PlanOptions& options);

/// `strategy={"system": name}`: the system with its own parts.
std::string set_system(const std::string& name);

/// The systems that are asked for; without any, all of the catalogue whose updates come in time.
std::vector<std::string> systems_or_all(const std::vector<std::string>& asked);

/// {"words", "reason", "ruled_out", "result"}.
nlohmann::json trial_json(const explore::Trial& trial);
nlohmann::json trials_json(const std::vector<explore::Trial>& trials);
nlohmann::json counts_json(const explore::TrialCounts& counts);

/// What was tried, a line each.
std::string evidence(const std::vector<explore::Trial>& trials);

/// Simulates them; what is wrong with all of them is an error.
void try_or_refuse(const nlohmann::json& base, std::vector<explore::Trial>& trials);

/// Simulates what was ruled out by its bound.
void try_one(const nlohmann::json& base, explore::Trial& trial, explore::TrialCounts& counts);

/// "12 bounds, 3 ruled out by them, 9 simulations."
std::string counts_words(const explore::TrialCounts& counts);

/// How sure an answer is: the machine's numbers that nobody states, apart from those that were
/// chosen.
std::string certainty(const result::Result& result);

void print_paragraph(const std::string& text);

/// `plan drives`, `plan machine` and `plan settings`, below `plan`.
void add_plan_drives(CLI::App& plan);
void add_plan_machine(CLI::App& plan);
void add_plan_settings(CLI::App& plan);

}  // namespace spillway::cli
