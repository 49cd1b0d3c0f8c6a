#include "cli/common.hpp"
#include "cli/monitor.hpp"
#include "cli/plan_common.hpp"
#include "cli/prices.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "explore/planning.hpp"
#include "explore/ways.hpp"
#include "reports/compare_table.hpp"
#include "reports/csv.hpp"
#include "reports/result/what_if.hpp"
#include "reports/table.hpp"
#include "scenarios/schema_check.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct Options {
  std::vector<std::string> scenarios;
  std::vector<std::string> systems;
  std::vector<std::string> overrides;
  std::string csv;  ///< "rows": what the table shows; "all": whole results
  double limit_s = plan_limit_s;
  RunOptions run;
  PriceOptions prices;
  bool json = false;
};

struct Entry {
  std::string label;
  description::Scenario scenario;
};

/// What will run, and whom the box or the training rules out.
struct Field {
  std::vector<Entry> entries;
  std::vector<reports::LeftOut> left_out;  ///< "strategy.optimizer.device: needs ..."
};

std::string reason_of(const description::Complaint& complaint) {
  std::string text = complaint.path + ": " + complaint.message;
  if (!complaint.hint.empty()) text += "; " + complaint.hint;
  return text;
}

bool is_known(const std::string& name) {
  const auto known = explore::known_systems();
  return explore::is_mix(name) ||
         std::any_of(known.begin(), known.end(),
                     [&](const scenarios::SystemInfo& one) { return one.name == name; });
}

/// `all` is every system of this version.
std::vector<std::string> systems_of(const Options& options) {
  if (options.systems != std::vector<std::string>{"all"}) return options.systems;
  std::vector<std::string> names;
  for (const scenarios::SystemInfo& system : explore::known_systems()) names.push_back(system.name);
  return names;
}

/// Each system's own parts on one file. What is wrong for all of them is wrong in the file.
void add_systems(const Options& options, const std::vector<std::string>& systems,
                 const std::string& file, Field& field,
                 std::vector<description::Complaint>& complaints) {
  std::vector<description::Complaint> refused;
  std::vector<reports::LeftOut> left_out;
  bool any = false;
  for (const std::string& system : systems) {
    // the parts of one system mean nothing to another: only the name is kept
    std::vector<std::string> overrides{explore::way_named(system).overrides};
    overrides.insert(overrides.end(), options.overrides.begin(), options.overrides.end());
    const std::string stem = std::filesystem::path(file).stem().string();
    const std::string label = options.scenarios.size() > 1 ? stem + " " + system : system;
    try {
      field.entries.push_back({label, read(file, overrides).scenario});
      any = true;
    } catch (const description::ScenarioError& error) {
      const auto& all = error.complaints();
      std::vector<description::Complaint>& into = is_known(system) ? refused : complaints;
      into.insert(into.end(), all.begin(), all.end());
      left_out.push_back({label, reason_of(all.front())});
    }
  }
  if (any)
    field.left_out.insert(field.left_out.end(), left_out.begin(), left_out.end());
  else
    complaints.insert(complaints.end(), refused.begin(), refused.end());
}

Field field_of(const Options& options) {
  Field field;
  std::vector<description::Complaint> complaints;
  const std::vector<std::string> systems = systems_of(options);
  for (const std::string& file : options.scenarios) {
    if (!systems.empty()) {
      add_systems(options, systems, file, field, complaints);
      continue;
    }
    try {
      field.entries.push_back(
          {std::filesystem::path(file).stem().string(), read(file, options.overrides).scenario});
    } catch (const description::ScenarioError& error) {
      complaints.insert(complaints.end(), error.complaints().begin(), error.complaints().end());
    }
  }
  scenarios::tidy(complaints);  // what is wrong in a file is wrong for each system
  if (!complaints.empty()) throw description::ScenarioError(std::move(complaints));
  return field;
}

/// Whoever turns out not to be able to run leaves the field, unless nobody can. A bug or a
/// simulation that took too long stays as that.
std::vector<explore::Outcome> outcomes_of(const explore::Backend& backend, Field& field,
                                          const RunOptions& run) {
  std::vector<description::Scenario> scenarios;
  for (const Entry& entry : field.entries) scenarios.push_back(entry.scenario);
  std::vector<explore::Outcome> outcomes = explore::simulate_all(
      backend, scenarios, 0, explore::default_limit_s, {explore::WhenFull::find_need});
  const bool any = std::any_of(outcomes.begin(), outcomes.end(),
                               [](const explore::Outcome& one) { return one.complaints.empty(); });
  std::vector<explore::Outcome> kept;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    explore::Outcome& outcome = outcomes[i];
    if (!outcome.complaints.empty()) {
      if (!any) throw description::ScenarioError(std::move(outcome.complaints));
      field.left_out.push_back({field.entries[i].label, reason_of(outcome.complaints.front())});
      continue;
    }
    if (outcome.not_tried) {
      field.left_out.push_back({field.entries[i].label, "not done in time"});
      continue;
    }
    if (outcome.result) add_range(run, scenarios[i], *outcome.result);
    kept.push_back(std::move(outcome));
    entries.push_back(std::move(field.entries[i]));
  }
  field.entries = std::move(entries);
  return kept;
}

/// A result; of what has none, {"system", "scenario", "failure"}.
nlohmann::json row_of(const Entry& entry, const explore::Outcome& outcome) {
  if (outcome.result) return *outcome.result;
  return {{"system", entry.scenario.strategy.system},
          {"scenario", entry.scenario},
          {"failure", outcome.failure}};
}

void print_table(const Field& field, const std::vector<reports::Contender>& contenders) {
  const reports::Screen screen = reports::screen_of(stdout);
  print(reports::compare_table(contenders, screen));
  std::map<std::string, std::string> old;  // by machine
  for (const Entry& entry : field.entries)
    if (const std::string words = old_prices_words(entry.scenario.machine); !words.empty())
      old[entry.scenario.machine.name] = words;
  const char* before = "\n";
  for (const auto& [machine, words] : old) {
    print(before + reports::paragraph(old.size() > 1 ? machine + ": " + words : words, screen));
    before = "";
  }
}

void print_field(const Options& options, const Field& field,
                 const std::vector<explore::Outcome>& outcomes) {
  std::vector<nlohmann::json> rows;
  std::vector<reports::Contender> contenders;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    rows.push_back(row_of(field.entries[i], outcomes[i]));
    const auto& result = outcomes[i].result;
    contenders.push_back(
        {field.entries[i].label, result ? &*result : nullptr, outcomes[i].failure});
  }
  if (options.json) return print_json(nlohmann::json(rows));
  if (options.csv.empty() && contenders.empty()) return;
  if (options.csv.empty()) return print_table(field, contenders);
  std::ostringstream text;
  if (options.csv == "all")
    reports::write_csv(text, rows);
  else
    reports::write_compare_csv(text, contenders, field.left_out);
  print(text.str());
}

/// What limits each of a few; of many it takes too long.
void add_what_ifs(const explore::Backend& backend, const Field& field,
                  std::vector<explore::Outcome>& outcomes) {
  constexpr std::size_t few = 4;
  if (outcomes.size() > few) return;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].result && outcomes[i].result->feasible())
      result::add_what_ifs(*outcomes[i].result,
                           explore::what_next(backend, field.entries[i].scenario));
}

/// `--system` takes words up to the next option: files among them are scenarios.
void sort_words(Options& options) {
  const auto is_file = [](const std::string& word) {
    return word.ends_with(".json") || std::filesystem::is_regular_file(word);
  };
  std::vector<std::string>& systems = options.systems;
  const auto files = std::stable_partition(systems.begin(), systems.end(), std::not_fn(is_file));
  options.scenarios.insert(options.scenarios.end(), files, systems.end());
  systems.erase(files, systems.end());
  if (options.scenarios.empty()) throw CLI::RequiredError("scenarios");
}

void compare(Options options) {
  sort_words(options);
  Field field = field_of(options);
  for (Entry& entry : field.entries) price_anew(options.prices, entry.scenario.machine);
  Monitor monitor("simulating", options.limit_s);
  monitor.expect(field.entries.size());
  const explore::Backend backend = monitor.backend();
  std::vector<explore::Outcome> outcomes = outcomes_of(backend, field, options.run);
  if (!options.json && options.csv.empty()) add_what_ifs(backend, field, outcomes);
  monitor.clear();
  for (const reports::LeftOut& one : field.left_out)
    std::cerr << "left out: " << one.label << ": " << one.reason << "\n";
  print_field(options, field, outcomes);
  finish(monitor, {}, options.json || !options.csv.empty());
  for (const explore::Outcome& outcome : outcomes)
    if (!outcome.result) throw CLI::RuntimeError(no_answer);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("compare", "systems or scenarios side by side");
  verb->add_option("scenarios", options->scenarios, "scenario files (at least one)");
  verb->add_option(
          "--system", options->systems,
          "run each scenario with these systems' own parts instead of its strategy, or with those "
          "of a scenario of scenarios/examples (mix_8b_workstation); all: every system")
      ->delimiter(',');
  add_set(*verb, options->overrides, "override one value in all of them");
  add_run_options(*verb, options->run);
  add_prices(*verb, options->prices);
  CLI::Option* json = verb->add_flag("--json", options->json, "an array of results");
  verb->add_flag("--csv{rows}", options->csv,
                 "the rows of the table as CSV, a line per column; --csv=all: whole results")
      ->check(CLI::IsMember({"rows", "all"}))
      ->excludes(json);
  add_limit(*verb, options->limit_s, "seconds after which the rest is left out; else 600");
  verb->footer(
      "Example:\n  spillway compare scenarios/examples/qwen7b_memascend_c1.json --system "
      "resident,zero_offload,zero_infinity");
  verb->callback([options] {
    for (std::string& one : run_overrides(options->run))
      options->overrides.push_back(std::move(one));
    compare(*options);
  });
}

}  // namespace spillway::cli
