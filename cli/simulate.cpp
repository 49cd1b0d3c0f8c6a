#include "answers/simulate/simulate.hpp"
#include "cli/common.hpp"
#include "cli/duration.hpp"
#include "cli/monitor.hpp"
#include "cli/prices.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "explore/remedies/faster_settings.hpp"
#include "reports/run/csv.hpp"
#include "reports/run/explain.hpp"
#include "reports/run/remedy_report.hpp"
#include "reports/run/simulate_report.hpp"
#include "reports/trace/chrome_trace.hpp"
#include "reports/trace/gzip.hpp"
#include "reports/trace/memory_snapshot.hpp"
#include "reports/words/human.hpp"
#include "reports/words/table.hpp"
#include "scenarios/description/text.hpp"

#include <fmt/ranges.h>
#include <cstdio>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct SimulateOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string decision_file, trace_file, snapshot_file;
  double limit_s = 0;  ///< 0: simulation_limit_s and remedy_limit_s
  RunOptions run;
  PriceOptions prices;
  bool json = false, csv = false, no_remedy = false;
  std::optional<reports::Topic> explain;

  double limit(double otherwise) const { return limit_s > 0 ? limit_s : otherwise; }
};

/// Seconds for the scenario and its what-ifs.
constexpr double simulation_limit_s = 600;

/// The scenario with further overrides, or nothing when they contradict it.
explore::Resolve resolver(const SimulateOptions& options) {
  return explore::resolving([options](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = options.overrides;
    overrides.insert(overrides.end(), more.begin(), more.end());
    auto resolved =
        scenarios::read_scenario(std::filesystem::path(options.scenario), overrides,
                                 explore::known_systems(), scenarios::Refuse::what_cannot_run);
    price_anew(options.prices, resolved.scenario.machine);
    return std::move(resolved.scenario);
  });
}

/// Looks for what makes the scenario fit.
///   tell   receives the one to buy at once
answer::Remedies remedies_of(const SimulateOptions& options, const description::Scenario& scenario,
                             const result::Result& result, Monitor& monitor,
                             const std::function<void(const answer::Remedy&)>& tell = {}) {
  monitor.begin("looking for what makes it fit", options.limit(remedy_limit_s));
  answer::Remedies remedies =
      answers::find_remedies(monitor.backend(), scenario, result, resolver(options), tell);
  monitor.clear();
  return remedies;
}

/// Looks for settings that cost nothing and make a step of a scenario that fits shorter.
///   Result  whether all were tried
bool find_faster(const SimulateOptions& options, answer::Simulation& simulation, Monitor& monitor) {
  if (options.no_remedy || !simulation.result.feasible()) return true;
  monitor.begin("looking for faster settings", options.limit(remedy_limit_s));
  simulation.faster =
      explore::faster_settings(monitor.backend(), simulation.result, resolver(options));
  const bool whole = monitor.backend().goes_on();
  monitor.clear();
  return whole;
}

/// What to buy, then what to change; both are simulated.
void print_remedies(const SimulateOptions& options, const description::Scenario& scenario,
                    const result::Result& result, const reports::Screen& screen, Monitor& monitor) {
  std::fflush(stdout);  // the answer so far, before the wait
  const auto text = [&](const answer::Remedy& remedy) {
    return reports::remedy_report(remedy, options.scenario, options.overrides, screen);
  };
  const answer::Remedies remedies =
      remedies_of(options, scenario, result, monitor, [&](const answer::Remedy& memory) {
        monitor.clear();
        print(text(memory));
      });
  for (const auto* one : {&remedies.change, &remedies.runnable})
    if (*one) print(text(**one));
  print(reports::remedies_note(remedies, monitor.why(), screen));
}

void print_faster(const SimulateOptions& options, const answer::Simulation& simulation) {
  print(reports::faster_report(simulation.faster, simulation.result, options.scenario,
                               options.overrides, reports::screen_of(stdout)));
}

void print_answer(const SimulateOptions& options, const answer::Simulation& simulation) {
  const reports::Screen screen = reports::screen_of(stdout);
  print(reports::simulate_report(simulation.result, screen));
  if (!simulation.old_prices.empty()) print(reports::paragraph(simulation.old_prices, screen));
  if (options.explain)
    print(reports::explain(simulation.result, simulation.settings, screen, *options.explain));
}

void print_csv(const result::Result& result) {
  std::ostringstream text;
  const nlohmann::json row = result;
  reports::write_csv(text, std::span<const nlohmann::json>(&row, 1));
  print(text.str());
}

std::string not_all_were_tried(const Monitor& monitor) {
  return monitor.why() + " before all settings were tried; --limit SECONDS waits longer.";
}

void print_human(const SimulateOptions& options, const scenarios::Resolved& resolved,
                 answer::Simulation& simulation, Monitor& monitor) {
  const reports::Screen screen = reports::screen_of(stdout);
  print_answer(options, simulation);
  std::fflush(stdout);  // the answer so far, before the wait
  const bool whole = find_faster(options, simulation, monitor);
  print_faster(options, simulation);
  if (!whole) print(reports::paragraph(not_all_were_tried(monitor), screen));
  const result::Result& result = simulation.result;
  if (!options.no_remedy && answers::needs_remedy(resolved.scenario, result))
    print_remedies(options, resolved.scenario, result, screen, monitor);
}

/// `--explain` may stand before the scenario, whose name is then taken for a topic.
void read_explain(SimulateOptions& options, const std::string& word) {
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

/// A decision is for one scenario on one machine, and its run is repeated as it was.
void refuse_beside_decision(const SimulateOptions& options) {
  const auto without = [](const char* option) {
    refuse(option, "changes the scenario, of which --decision has decided everything",
           "leave it out, or simulate a scenario");
  };
  if (!options.scenario.empty()) without("scenario");
  if (!options.overrides.empty()) without("--set");
  if (!run_overrides(options.run, options.overrides).empty()) without("--tokens");
  if (options.run.range) without("--range");
  if (options.prices.any()) without("--price");
}

/// What ended the simulation before its time, and what to do about it: there is no answer.
[[noreturn]] void end_without_answer(const Monitor& monitor,
                                     const description::Scenario& scenario) {
  monitor.finish();
  throw description::DeviceError(fmt::format(
      "{} before the scenario was simulated; --limit SECONDS waits longer; run.steps is "
      "{}, and equal steps repeat",
      monitor.why(), scenario.run.steps));
}

/// Says how long it will take, if that is long.
void announce(const SimulateOptions& options, const scenarios::Resolved& resolved,
              Monitor& monitor) {
  announce_duration(monitor, resolved.scenario, options.limit(simulation_limit_s),
                    [&](const explore::Backend& backend, const description::Scenario& part) {
                      answers::SimulateQuestion question;
                      question.scenario = resolved;
                      question.scenario.scenario = part;
                      return answers::simulate(backend, question).has_value();
                    });
  monitor.begin("simulating what would help", options.limit(simulation_limit_s));
}

/// The scenario, and what each next piece of hardware would bring.
answer::Simulation run(const SimulateOptions& options, const scenarios::Resolved& resolved,
                       Monitor& monitor, result::Trace& trace) {
  answers::SimulateQuestion question;
  question.scenario = resolved;
  question.today = today();
  question.range = options.run.range;
  question.decision = options.json;
  if (!options.trace_file.empty() || !options.snapshot_file.empty()) question.trace = &trace;
  question.begin_run = [&] {
    monitor.begin("simulating", options.limit(simulation_limit_s));
    if (question.trace) monitor.let_go();
  };
  auto simulation = answers::simulate(monitor.backend(), question);
  if (!simulation) end_without_answer(monitor, resolved.scenario);
  monitor.clear();
  return std::move(*simulation);
}

std::string trace_text(const SimulateOptions& options, const result::Trace& trace) {
  std::ostringstream text;
  reports::write_chrome_trace(text, trace);
  return options.trace_file.ends_with(".gz") ? reports::gzipped(text.str()) : text.str();
}

void write_traces(const SimulateOptions& options, const result::Trace& trace) {
  std::vector<OutputFile> files;
  if (!options.trace_file.empty())
    files.push_back({options.trace_file, trace_text(options, trace)});
  if (!options.snapshot_file.empty())
    files.push_back({options.snapshot_file, reports::memory_snapshot(trace)});
  write_files(files);
  if (!options.trace_file.empty())
    std::fprintf(stderr, "%s: %s spans; open it at https://ui.perfetto.dev or chrome://tracing\n",
                 description::printable(options.trace_file).c_str(),
                 reports::human_count(trace.spans.size()).c_str());
  if (!options.snapshot_file.empty())
    std::fprintf(stderr, "%s: %s buffers; drop it on https://pytorch.org/memory_viz\n",
                 description::printable(options.snapshot_file).c_str(),
                 reports::human_count(trace.buffers.size()).c_str());
}

/// What the file says beside its run, and the run itself, repeated.
answer::Simulation replay(const SimulateOptions& options, Monitor& monitor, result::Trace* trace) {
  answer::Simulation simulation;
  monitor.begin("simulating", options.limit(simulation_limit_s));
  monitor.let_go();
  explore::Replayed run = explore::replay_file(monitor.backend(), options.decision_file, trace);
  if (!run.stored.is_null()) run.stored.get_to(simulation);
  simulation.result = std::move(run.result);
  monitor.clear();
  return simulation;
}

void repeat(const SimulateOptions& options) {
  Monitor monitor("simulating", options.limit(simulation_limit_s));
  result::Trace trace;
  const bool traced = !options.trace_file.empty() || !options.snapshot_file.empty();
  const answer::Simulation simulation = replay(options, monitor, traced ? &trace : nullptr);
  write_traces(options, trace);
  if (options.json)
    print_json(flat(simulation));
  else if (options.csv)
    print_csv(simulation.result);
  else {
    print_answer(options, simulation);
    print_faster(options, simulation);
  }
  monitor.finish();
}

void simulate(const SimulateOptions& options) {
  scenarios::Resolved resolved = read(options.scenario, options.overrides);
  price_anew(options.prices, resolved.scenario.machine);
  warn_of_prices(resolved.scenario.machine);
  Monitor monitor("simulating what would help", options.limit(simulation_limit_s));
  announce(options, resolved, monitor);
  result::Trace trace;
  answer::Simulation simulation = run(options, resolved, monitor, trace);
  write_traces(options, trace);
  if (options.json) {
    if (!options.no_remedy && answers::needs_remedy(resolved.scenario, simulation.result))
      simulation.remedy = remedies_of(options, resolved.scenario, simulation.result, monitor);
    if (!find_faster(options, simulation, monitor))
      simulation.warnings.push_back(not_all_were_tried(monitor));
    print_json(flat(simulation));
    return monitor.finish();
  }
  if (options.csv) {
    return print_csv(simulation.result);
  }
  print_human(options, resolved, simulation, monitor);
  monitor.finish();
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* verb = app.add_subcommand(
      "simulate", "peak memory, traffic, wear and time per step of one scenario");
  CLI::Option* scenario =
      verb->add_option("scenario", options->scenario, "scenario file (required)");
  add_set(*verb, options->overrides, "override one value: --set training.micro_batch=8");
  add_run_options(*verb, options->run);
  add_prices(*verb, options->prices);
  verb->add_option("--trace", options->trace_file,
                   "write a Chrome/Perfetto trace of the run; packed where the name ends in .gz");
  verb->add_option("--memory-snapshot", options->snapshot_file,
                   "write every buffer of the run as PyTorch's memory_viz opens it")
      ->type_name("FILE");
  CLI::Option* decision =
      verb->add_option("--decision", options->decision_file,
                       "in place of a scenario: run what was decided, from a file that "
                       "simulate --json wrote")
          ->type_name("FILE")
          ->excludes(scenario);
  auto topic = std::make_shared<std::string>();
  CLI::Option* explain =
      verb->add_option("--explain", *topic,
                       "where each setting, gigabyte and second comes from: all, memory, time or "
                       "settings")
          ->expected(0, 1)
          ->type_name("[TOPIC]");
  CLI::Option* json = verb->add_flag("--json", options->json, "the result as JSON");
  verb->add_flag("--csv", options->csv, "the result as CSV")->excludes(json);
  add_shared_folders(*verb);
  add_limit(*verb, options->limit_s,
            "seconds for the simulation, else 600, and for what makes it fit or faster, else 5");
  verb->add_flag("--no-remedy", options->no_remedy,
                 "do not look for settings that make it fit or faster");
  verb->footer(
      "Example:\n  spillway simulate scenarios/examples/qwen7b_memascend_c1.json --set "
      "training.micro_batch=2 --explain memory");
  verb->callback([options, topic, explain, decision] {
    if (*explain) read_explain(*options, topic->empty() ? "all" : *topic);
    if (*decision) {
      refuse_beside_decision(*options);
      return repeat(*options);
    }
    if (options->scenario.empty()) throw CLI::RequiredError("scenario");
    for (std::string& one : run_overrides(options->run, options->overrides))
      options->overrides.push_back(std::move(one));
    simulate(*options);
  });
}

}  // namespace spillway::cli
