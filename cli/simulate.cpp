#include "cli/common.hpp"
#include "cli/monitor.hpp"
#include "cli/prices.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "explore/more_memory.hpp"
#include "reports/chrome_trace.hpp"
#include "reports/csv.hpp"
#include "reports/explain.hpp"
#include "reports/gzip.hpp"
#include "reports/human.hpp"
#include "reports/memory_snapshot.hpp"
#include "reports/result/what_if.hpp"
#include "reports/simulate_report.hpp"
#include "reports/table.hpp"
#include "scenarios/description/bugs.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/ranges.h>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct Options {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string trace_file, snapshot_file;
  double limit_s = 0;  ///< 0: simulation_limit_s and remedy_limit_s
  RunOptions run;
  PriceOptions prices;
  bool json = false, csv = false, no_remedy = false;
  std::optional<reports::Topic> explain;

  double limit(double otherwise) const { return limit_s > 0 ? limit_s : otherwise; }
};

/// Seconds for the scenario and its what-ifs, and for what would make it fit.
constexpr double simulation_limit_s = 600, remedy_limit_s = 5;

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
std::string remedy_text(const Options& options, const explore::Remedy& remedy,
                        const reports::Screen& screen) {
  std::string text =
      "\n" + reports::paragraph("It fits with " + remedy.words + ": " +
                                    reports::human_time(remedy.result.step_time_s) + " a step, " +
                                    reports::human_number(remedy.result.tokens_per_s) +
                                    " tokens/s" + runs_with_words(remedy.result),
                                screen);
  text += "  spillway simulate " + shell_word(options.scenario);
  for (const auto* overrides : {&options.overrides, &remedy.overrides})
    for (const std::string& override_ : *overrides) text += " --set " + shell_word(override_);
  return text + "\n";
}

/// What to buy, then what to change; both are simulated.
void print_remedies(const Options& options, const description::Scenario& scenario,
                    const result::Result& result, const reports::Screen& screen, Monitor& monitor) {
  std::fflush(stdout);  // the answer so far, before the wait
  monitor.begin("looking for what makes it fit", options.limit(remedy_limit_s));
  const explore::Resolve resolve = resolver(options);
  const auto memory = explore::more_memory(monitor.backend(), scenario, result, resolve);
  monitor.clear();
  if (memory) print(remedy_text(options, *memory, screen));
  const auto change = explore::cheapest_remedy(monitor.backend(), scenario, resolve);
  monitor.clear();
  const std::string ended =
      monitor.why().empty()
          ? ""
          : monitor.why() + " before all changes were tried; --limit SECONDS waits longer.";
  if (change) print(remedy_text(options, *change, screen));
  if (change && ended.empty()) return;
  std::string text = change ? ended
                     : ended.empty()
                         ? "No smaller micro-batch, further checkpointing, smaller sub-group, "
                           "smaller part or other system, nor two of them, makes it fit."
                         : "No change of the settings that makes it fit was found. " + ended;
  print("\n" + reports::paragraph(text, screen));
}

void print_human(const Options& options, const scenarios::Resolved& resolved,
                 const result::Result& result, Monitor& monitor) {
  const reports::Screen screen = reports::screen_of(stdout);
  print(reports::simulate_report(result, screen));
  if (const std::string old = old_prices_words(resolved.scenario.machine); !old.empty())
    print(reports::paragraph(old, screen));
  if (options.explain) {
    std::vector<reports::Setting> settings;
    for (const scenarios::Setting& setting : resolved.settings)
      settings.push_back({setting.path, setting.value, setting.source});
    print(reports::explain(result, settings, screen, *options.explain));
  }
  if (!result.feasible() && !resolved.scenario.run.io_bench && !options.no_remedy)
    print_remedies(options, resolved.scenario, result, screen, monitor);
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

/// What ended the simulation before its time, as an error with what to do about it.
[[noreturn]] void refuse_to_wait(const Monitor& monitor, const description::Scenario& scenario) {
  monitor.finish();
  refuse("--limit", monitor.why() + " before the scenario was simulated",
         fmt::format("--limit SECONDS waits longer; run.steps is {}, and equal steps repeat",
                     scenario.run.steps));
}

/// The scenario, and what each next piece of hardware would bring. Without a trace in a child of
/// its own, which a limit or Ctrl-C ends.
result::Result run(const Options& options, const description::Scenario& scenario, Monitor& monitor,
                   result::Trace& trace) {
  const explore::Backend backend = monitor.backend();
  // children first: they start from a process in which nothing was simulated yet
  std::map<std::string, result::WhatIf> next = explore::what_next(backend, scenario);
  if (monitor.ended()) refuse_to_wait(monitor, scenario);
  result::Result result;
  monitor.begin("simulating", options.limit(simulation_limit_s));
  if (options.trace_file.empty() && options.snapshot_file.empty()) {
    explore::Outcome outcome = explore::simulate_all(backend, std::span(&scenario, 1), 1, HUGE_VAL,
                                                     {explore::WhenFull::find_need})
                                   .front();
    if (outcome.not_tried) refuse_to_wait(monitor, scenario);
    result = explore::result_of(outcome);
  } else {
    monitor.let_go();
    result = explore::simulate(backend, scenario, &trace);
  }
  monitor.clear();
  result::add_what_ifs(result, std::move(next));
  return result;
}

void write_trace(const Options& options, const result::Trace& trace) {
  std::ostringstream text;
  reports::write_chrome_trace(text, trace);
  const bool packed = options.trace_file.ends_with(".gz");
  write_file(options.trace_file, packed ? reports::gzipped(text.str()) : text.str());
  std::fprintf(stderr, "%s: %s spans; open it at https://ui.perfetto.dev or chrome://tracing\n",
               options.trace_file.c_str(), reports::human_count(trace.spans.size()).c_str());
}

void write_snapshot(const Options& options, const result::Trace& trace) {
  write_file(options.snapshot_file, reports::memory_snapshot(trace));
  std::fprintf(stderr, "%s: %s buffers; drop it on https://pytorch.org/memory_viz\n",
               options.snapshot_file.c_str(), reports::human_count(trace.buffers.size()).c_str());
}

void simulate(const Options& options) {
  scenarios::Resolved resolved = read(options.scenario, options.overrides);
  price_anew(options.prices, resolved.scenario.machine);
  Monitor monitor("simulating what would help", options.limit(simulation_limit_s));
  result::Trace trace;
  result::Result result = run(options, resolved.scenario, monitor, trace);
  add_range(options.run, resolved.scenario, result);
  if (!options.trace_file.empty()) write_trace(options, trace);
  if (!options.snapshot_file.empty()) write_snapshot(options, trace);
  if (options.json) return print_json(nlohmann::json(result));
  if (options.csv) {
    std::ostringstream text;
    const nlohmann::json row = result;
    reports::write_csv(text, std::span<const nlohmann::json>(&row, 1));
    return print(text.str());
  }
  print_human(options, resolved, result, monitor);
  monitor.finish();
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "simulate", "peak memory, traffic, wear and time per step of one scenario");
  verb->add_option("scenario", options->scenario, "scenario file (required)");
  add_set(*verb, options->overrides, "override one value: --set training.micro_batch=8");
  add_run_options(*verb, options->run);
  add_prices(*verb, options->prices);
  verb->add_option("--trace", options->trace_file,
                   "write a Chrome/Perfetto trace of the run; packed where the name ends in .gz");
  verb->add_option("--memory-snapshot", options->snapshot_file,
                   "write every buffer of the run as PyTorch's memory_viz opens it")
      ->type_name("FILE");
  auto topic = std::make_shared<std::string>();
  CLI::Option* explain =
      verb->add_option("--explain", *topic,
                       "where each setting, gigabyte and second comes from: all, memory, time or "
                       "settings")
          ->expected(0, 1)
          ->type_name("[TOPIC]");
  CLI::Option* json = verb->add_flag("--json", options->json, "the result as JSON");
  verb->add_flag("--csv", options->csv, "the result as CSV")->excludes(json);
  add_limit(*verb, options->limit_s,
            "seconds for the simulation, else 600, and for what makes it fit, else 5");
  verb->add_flag("--no-remedy", options->no_remedy, "do not look for what makes it fit");
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
