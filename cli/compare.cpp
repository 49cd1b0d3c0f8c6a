#include "cli/common.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "reports/compare_table.hpp"
#include "reports/csv.hpp"
#include "scenarios/schema_check.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct Options {
  std::vector<std::string> scenarios;
  std::vector<std::string> systems;
  std::vector<std::string> overrides;
  RunOptions run;
  bool json = false, csv = false;
};

struct Entry {
  std::string label;
  description::Scenario scenario;
};

/// What will run, and whom the box or the training rules out.
struct Field {
  std::vector<Entry> entries;
  std::vector<std::string> left_out;  ///< "smart_infinity: strategy.optimizer.device: needs ..."
};

std::string reason_of(const description::Complaint& complaint) {
  std::string text = complaint.path + ": " + complaint.message;
  if (!complaint.hint.empty()) text += "; " + complaint.hint;
  return text;
}

bool is_known(const std::string& name) {
  const auto known = explore::known_systems();
  return std::any_of(known.begin(), known.end(),
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
  std::vector<std::string> left_out;
  bool any = false;
  for (const std::string& system : systems) {
    // the parts of one system mean nothing to another: only the name is kept
    std::vector<std::string> overrides{"strategy={\"system\": \"" + system + "\"}"};
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
      left_out.push_back(label + ": " + reason_of(all.front()));
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

/// Whoever turns out not to be able to run leaves the field, unless nobody can.
std::vector<result::Result> results_of(Field& field, const RunOptions& run) {
  std::vector<description::Scenario> scenarios;
  for (const Entry& entry : field.entries) scenarios.push_back(entry.scenario);
  std::vector<explore::Outcome> outcomes = explore::simulate_all(simulator(), scenarios);
  const bool any = std::any_of(outcomes.begin(), outcomes.end(),
                               [](const explore::Outcome& one) { return one.result.has_value(); });
  std::vector<result::Result> results;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    explore::Outcome& outcome = outcomes[i];
    if (!outcome.complaints.empty()) {
      if (!any) throw description::ScenarioError(std::move(outcome.complaints));
      field.left_out.push_back(field.entries[i].label + ": " +
                               reason_of(outcome.complaints.front()));
      continue;
    }
    if (!outcome.result) throw description::InternalError(outcome.failure);
    results.push_back(std::move(*outcome.result));
    add_range(run, scenarios[i], results.back());
    entries.push_back(std::move(field.entries[i]));
  }
  field.entries = std::move(entries);
  return results;
}

void compare(const Options& options) {
  Field field = field_of(options);
  const std::vector<result::Result> results = results_of(field, options.run);
  for (const std::string& one : field.left_out) std::cerr << "left out: " << one << "\n";
  if (options.json) return print_json(nlohmann::json(results));
  if (options.csv) {
    std::vector<nlohmann::json> rows(results.begin(), results.end());
    std::ostringstream text;
    reports::write_csv(text, rows);
    return print(text.str());
  }
  std::vector<reports::Contender> contenders;
  for (std::size_t i = 0; i < results.size(); ++i)
    contenders.push_back({field.entries[i].label, &results[i]});
  print(reports::compare_table(contenders, reports::screen_of(stdout)));
}

}  // namespace

void add_compare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("compare", "systems or scenarios side by side");
  verb->add_option("scenarios", options->scenarios, "scenario files")->required();
  verb->add_option(
          "--system", options->systems,
          "run each scenario with these systems' own parts instead of its strategy; all: every one")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_set(*verb, options->overrides, "override one value in all of them");
  add_run_options(*verb, options->run);
  CLI::Option* json = verb->add_flag("--json", options->json, "an array of results");
  verb->add_flag("--csv", options->csv, "one line per result")->excludes(json);
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
