#pragma once

#include "explore/trials.hpp"

#include <CLI/CLI.hpp>

namespace spillway::cli {

/// `strategy={"system": name}`: the system with its own parts.
std::string set_system(const std::string& name);

/// The systems that are asked for; without any, all of the catalogue whose updates come in time.
std::vector<std::string> systems_or_all(const std::vector<std::string>& asked);

/// {"words", "reason", "result"}.
nlohmann::json trial_json(const explore::Trial& trial);

/// How sure an answer is: the machine's numbers that nobody states, apart from those that were
/// chosen.
std::string certainty(const result::Result& result);

void print_paragraph(const std::string& text);

/// `plan machine`, below `plan`.
void add_plan_machine(CLI::App& plan);

}  // namespace spillway::cli
