#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "reports/compare_table.hpp"
#include "reports/csv.hpp"
#include "scenarios/schema_check.hpp"

#include <filesystem>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct Options {
  std::vector<std::string> scenarios;
  std::vector<std::string> systems;
  std::vector<std::string> overrides;
  bool json = false, csv = false;
};

struct Entry {
  std::string label;
  description::Scenario scenario;
};

std::vector<Entry> entries_of(const Options& options) {
  std::vector<Entry> entries;
  std::vector<description::Complaint> complaints;
  const auto add = [&](const std::string& file, std::vector<std::string> overrides,
                       std::string label) {
    try {
      entries.push_back({std::move(label), read(file, overrides).scenario});
    } catch (const description::ScenarioError& error) {
      complaints.insert(complaints.end(), error.complaints().begin(), error.complaints().end());
    }
  };
  for (const std::string& file : options.scenarios) {
    const std::string stem = std::filesystem::path(file).stem().string();
    const bool several = options.scenarios.size() > 1;
    if (options.systems.empty()) add(file, options.overrides, stem);
    for (const std::string& system : options.systems) {
      // the parts of one system mean nothing to another: only the name is kept
      std::vector<std::string> overrides{"strategy={\"system\": \"" + system + "\"}"};
      overrides.insert(overrides.end(), options.overrides.begin(), options.overrides.end());
      add(file, std::move(overrides), several ? stem + " " + system : system);
    }
  }
  scenarios::tidy(complaints);  // what is wrong in a file is wrong for each system
  if (!complaints.empty()) throw description::ScenarioError(std::move(complaints));
  return entries;
}

std::vector<result::Result> results_of(const std::vector<Entry>& entries) {
  std::vector<description::Scenario> scenarios;
  for (const Entry& entry : entries) scenarios.push_back(entry.scenario);
  std::vector<result::Result> results;
  for (explore::Outcome& outcome : explore::simulate_all(simulator(), scenarios)) {
    if (!outcome.complaints.empty())
      throw description::ScenarioError(std::move(outcome.complaints));
    if (!outcome.result) throw description::InternalError(outcome.failure);
    results.push_back(std::move(*outcome.result));
  }
  return results;
}

void compare(const Options& options) {
  const std::vector<Entry> entries = entries_of(options);
  const std::vector<result::Result> results = results_of(entries);
  if (options.json) return print_json(nlohmann::json(results));
  if (options.csv) {
    std::vector<nlohmann::json> rows(results.begin(), results.end());
    std::ostringstream text;
    reports::write_csv(text, rows);
    return print(text.str());
  }
  std::vector<reports::Contender> contenders;
  for (std::size_t i = 0; i < entries.size(); ++i)
    contenders.push_back({entries[i].label, &results[i]});
  print(reports::compare_table(contenders, reports::screen_of(stdout)));
}

}  // namespace

void add_compare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("compare", "systems or scenarios side by side");
  verb->add_option("scenarios", options->scenarios, "scenario files")->required();
  verb->add_option("--system", options->systems,
                   "run each scenario with these systems' own parts instead of its strategy")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_set(*verb, options->overrides, "override one value in all of them");
  CLI::Option* json = verb->add_flag("--json", options->json, "an array of results");
  verb->add_flag("--csv", options->csv, "one line per result")->excludes(json);
  verb->footer(
      "Example:\n  spillway compare scenarios/examples/qwen7b_memascend_c1.json --system "
      "resident,zero_offload,zero_infinity");
  verb->callback([options] { compare(*options); });
}

}  // namespace spillway::cli
