#include "cli/common.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "explore/planning.hpp"
#include "reports/chrome_trace.hpp"
#include "reports/csv.hpp"
#include "reports/explain.hpp"
#include "reports/human.hpp"
#include "reports/simulate_report.hpp"
#include "reports/table.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/ranges.h>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct Options {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string trace_file;
  RunOptions run;
  bool json = false, csv = false;
  std::optional<reports::Topic> explain;
};

/// The scenario with further overrides, or nothing when they contradict it.
explore::Resolve resolver(const Options& options) {
  return [options](const std::vector<std::string>& more) -> std::optional<description::Scenario> {
    std::vector<std::string> overrides = options.overrides;
    overrides.insert(overrides.end(), more.begin(), more.end());
    try {
      return scenarios::read_scenario(std::filesystem::path(options.scenario), overrides,
                                      explore::known_systems(), strategies::unsupported)
          .scenario;
    } catch (const description::ScenarioError&) {
      return std::nullopt;  // this change does not go with the scenario; the others may
    }
  };
}

/// As a shell reads it: in single quotes where it is more than letters, digits and punctuation that
/// no shell minds.
std::string shell_word(const std::string& word) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// "; runs with DeepSpeed".
std::string runs_with_words(const result::Result& result) {
  return result.runs_with ? "; runs with " + result.runs_with->program : "";
}

/// In words, and as a command to paste.
std::string remedy_text(const Options& options, const std::optional<explore::Remedy>& remedy,
                        const reports::Screen& screen) {
  if (!remedy)
    return "\n" + reports::paragraph(
                      "No smaller micro-batch, further checkpointing, smaller "
                      "sub-group, smaller part or other system, nor two of them, makes it fit.",
                      screen);
  std::string text =
      "\n" + reports::paragraph("It fits with " + remedy->words + ": " +
                                    reports::human_time(remedy->result.step_time_s) + " a step, " +
                                    reports::human_number(remedy->result.tokens_per_s) +
                                    " tokens/s" + runs_with_words(remedy->result),
                                screen);
  text += "  spillway simulate " + shell_word(options.scenario);
  for (const auto* overrides : {&options.overrides, &remedy->overrides})
    for (const std::string& override_ : *overrides) text += " --set " + shell_word(override_);
  return text + "\n";
}

void print_human(const Options& options, const scenarios::Resolved& resolved,
                 const result::Result& result) {
  const reports::Screen screen = reports::screen_of(stdout);
  print(reports::simulate_report(result, screen));
  if (options.explain) {
    std::vector<reports::Setting> settings;
    for (const scenarios::Setting& setting : resolved.settings)
      settings.push_back({setting.path, setting.value, setting.source});
    print(reports::explain(result, settings, screen, *options.explain));
  }
  if (!result.feasible() && !resolved.scenario.run.io_bench)
    print(remedy_text(options,
                      explore::cheapest_remedy(simulator(), resolved.scenario, resolver(options)),
                      screen));
}

/// `--explain` may stand before the scenario, whose name is then taken for a topic.
void read_explain(Options& options, const std::string& word) {
  for (std::size_t i = 0; i < reports::topic_names.size(); ++i)
    if (word == reports::topic_names[i]) options.explain = static_cast<reports::Topic>(i);
  if (!options.explain && options.scenario.empty()) {
    options.scenario = word;
    options.explain = reports::Topic::all;
  }
  if (!options.explain)
    throw CLI::ValidationError(
        "--explain", "no \"" + word + "\"; write " +
                         fmt::format("{}", fmt::join(reports::topic_names, ", ")) + " or nothing");
}

void simulate(const Options& options) {
  const scenarios::Resolved resolved = read(options.scenario, options.overrides);
  result::Trace trace;
  // children first: they start from a process in which nothing was simulated yet
  std::map<std::string, result::WhatIf> next = explore::what_next(simulator(), resolved.scenario);
  result::Result result = explore::simulate(simulator(), resolved.scenario,
                                            options.trace_file.empty() ? nullptr : &trace);
  if (result.feasible()) result.next = std::move(next);
  add_range(options.run, resolved.scenario, result);
  if (!options.trace_file.empty()) {
    std::ostringstream text;
    reports::write_chrome_trace(text, trace);
    write_file(options.trace_file, text.str());
  }
  if (options.json) return print_json(nlohmann::json(result));
  if (options.csv) {
    std::ostringstream text;
    const nlohmann::json row = result;
    reports::write_csv(text, std::span<const nlohmann::json>(&row, 1));
    return print(text.str());
  }
  print_human(options, resolved, result);
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "simulate", "peak memory, traffic, wear and time per step of one scenario");
  verb->add_option("scenario", options->scenario, "scenario file (required)");
  add_set(*verb, options->overrides, "override one value: --set training.micro_batch=8");
  add_run_options(*verb, options->run);
  verb->add_option("--trace", options->trace_file, "write a Chrome/Perfetto trace of the run");
  auto topic = std::make_shared<std::string>();
  CLI::Option* explain =
      verb->add_option("--explain", *topic,
                       "where each setting, gigabyte and second comes from: all, memory, time or "
                       "settings")
          ->expected(0, 1)
          ->type_name("[TOPIC]");
  CLI::Option* json = verb->add_flag("--json", options->json, "the result as JSON");
  verb->add_flag("--csv", options->csv, "the result as CSV")->excludes(json);
  verb->footer(
      "Example:\n  spillway simulate scenarios/examples/qwen7b_memascend_c1.json --set "
      "training.micro_batch=2 --explain memory");
  verb->callback([options, topic, explain] {
    if (*explain) read_explain(*options, topic->empty() ? "all" : *topic);
    if (options->scenario.empty()) throw CLI::RequiredError("scenario");
    for (std::string& one : run_overrides(options->run))
      options->overrides.push_back(std::move(one));
    simulate(*options);
  });
}

}  // namespace spillway::cli
