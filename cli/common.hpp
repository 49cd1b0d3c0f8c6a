#pragma once

#include "cli/output_files.hpp"
#include "explore/outcome/outcomes.hpp"
#include "scenarios/reading/read_scenario.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace spillway::cli {

/// Exit code of a verb that compares, when what should hold does not; thrown as CLI::RuntimeError
/// after the answer is printed.
inline constexpr int does_not_hold = 1;

/// Of a verb that has no answer to a part of what was asked, and says so in its place; a bug makes
/// another one of it (notice_bug).
inline constexpr int no_answer = 3;

/// {"errors": [...]} as FORMATS has it.
nlohmann::json errors_json(const std::vector<description::Complaint>& complaints);

using description::refuse;

/// SimMachine, from its plugin. Bugs that simulations end with are noticed.
const explore::Backend& simulator();

/// A bug that the answer shows in its place: with one, the program exits with 4 once the answer is
/// printed.
struct Bug {
  std::string failure;   ///< its text
  std::string scenario;  ///< in which it shows, as JSON; "" where nobody knows
};
void notice_bug(const std::string& failure, const std::string& scenario = "");
/// Those, each text once.
const std::vector<Bug>& noticed_bugs();

/// Why a simulation could not be done that the answer misses: with one, the program says so once
/// the answer is printed, and exits with 3.
void notice_unanswered(const std::string& failure);
/// Those, each once, and how often.
const std::map<std::string, std::size_t>& noticed_unanswered();

/// "warning: ..." on standard error: in a terminal's lines, else in one.
void warn(const std::string& text);

/// Reads and resolves a scenario against this version's catalogue; warnings go to standard error.
scenarios::Resolved read(const std::string& file, const std::vector<std::string>& overrides);

/// Of what a person asked for, and not of what is tried besides: each once.
void print_warnings(const scenarios::Resolved& resolved);

/// Prints `json` indented, with a line end.
void print_json(const nlohmann::json& json);
void print(const std::string& text);

/// The text of a file of a resolved scenario, its system's own parts left out.
std::string scenario_text(const nlohmann::json& scenario);

/// Under what was announced: waits for a line "yes", so that a person, or a program for one, may
/// still say no.
///   to      standard output or standard error
///   Throws  ScenarioError
void require_yes(std::FILE* to);

/// `--set path=value`, repeatable, one value each, so that what follows can be a file.
void add_set(CLI::App& verb, std::vector<std::string>& overrides, const std::string& help);

/// `--device auto|cuda|host`
void add_device(CLI::App& verb, std::string& wish);

/// Shows `text` and reads a line at the terminal: standard input when it is one, else the one that
/// controls the process. An answer from a file or a pipe is none.
///   Throws  ScenarioError: nobody can answer
std::string ask_at_terminal(const std::string& text);

/// Seconds that verbs look for what would make a scenario fit, or faster.
inline constexpr double remedy_limit_s = 5;

/// For CLI::Option::check: a number above 0, and no infinite one.
CLI::Validator positive_number();
/// The most that runs at a time, and pieces of a list that are counted out.
inline constexpr std::uint64_t most_jobs = 1024;

/// For CLI::Option::transform: "60M" is 60000000; K, M, B or G, and T are 10 to the 3, 6, 9 and 12.
CLI::Validator count_with_suffix();
/// For CLI::Option::transform, before positive_number: "10min" is 600; a number alone are seconds.
CLI::Validator seconds_with_unit();

}  // namespace spillway::cli
