#include "answers/compare/compare.hpp"
#include "cli/common.hpp"
#include "cli/monitor.hpp"
#include "cli/plan_common.hpp"
#include "cli/prices.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "reports/run/compare_table.hpp"
#include "reports/run/csv.hpp"
#include "reports/words/table.hpp"
#include "scenarios/description/text.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct CompareOptions {
  answers::CompareQuestion question;
  std::string csv;  ///< "rows": what the table shows; "all": whole results
  double limit_s = plan_limit_s;
  RunOptions run;
  PriceOptions prices;
  bool json = false;
};

void print_table(const answer::Comparison& comparison,
                 const std::vector<reports::Contender>& contenders) {
  const reports::Screen screen = reports::screen_of(stdout);
  print(reports::compare_table(contenders, screen));
  const char* before = "\n";
  for (const std::string& words : comparison.old_prices) {
    print(before + reports::paragraph(words, screen));
    before = "";
  }
}

void print_comparison(const CompareOptions& options, const answer::Comparison& comparison) {
  if (options.json) return print_json(answer::rows_of(comparison));
  std::vector<reports::Contender> contenders;
  for (const answer::Compared& run : comparison.runs)
    contenders.push_back({run.label, run.result ? &*run.result : nullptr, run.failure});
  if (options.csv.empty() && contenders.empty()) return;
  if (options.csv.empty()) return print_table(comparison, contenders);
  std::ostringstream text;
  const std::vector<nlohmann::json> rows = answer::rows_of(comparison);
  if (options.csv == "all")
    reports::write_csv(text, rows);
  else
    reports::write_compare_csv(text, contenders, comparison.left_out);
  print(text.str());
}

/// `--system` takes words up to the next option: files among them are scenarios.
void sort_words(CompareOptions& options) {
  const auto is_file = [](const std::string& word) {
    return word.ends_with(".json") || std::filesystem::is_regular_file(word);
  };
  std::vector<std::string>& systems = options.question.systems;
  const auto files = std::stable_partition(systems.begin(), systems.end(), std::not_fn(is_file));
  options.question.scenarios.insert(options.question.scenarios.end(), files, systems.end());
  systems.erase(files, systems.end());
  if (options.question.scenarios.empty()) throw CLI::RequiredError("scenarios");
}

void compare(CompareOptions options) {
  sort_words(options);
  answers::Field field = answers::field_of(options.question);
  for (const std::string& warning : field.warnings) warn(warning);
  for (answers::Entry& entry : field.entries) {
    price_anew(options.prices, entry.scenario.machine);
    warn_of_prices(entry.scenario.machine);
  }
  Monitor monitor("simulating", options.limit_s);
  monitor.expect(field.entries.size());
  const bool table = !options.json && options.csv.empty();
  const bool what_ifs = table || options.csv == "rows";
  const answer::Comparison comparison =
      answers::compare(monitor.backend(), std::move(field), {options.run.range, what_ifs, today()});
  monitor.clear();
  for (const answer::LeftOut& one : comparison.left_out)
    std::cerr << description::printable("left out: " + one.label + ": " + one.reason) << "\n";
  print_comparison(options, comparison);
  finish(monitor, {}, !comparison.runs.empty(), !table);
  for (const answer::Compared& run : comparison.runs)
    if (!run.result) throw CLI::RuntimeError(no_answer);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* verb = app.add_subcommand("compare", "systems or scenarios side by side");
  verb->add_option("scenarios", options->question.scenarios, "scenario files (at least one)");
  verb->add_option(
          "--system", options->question.systems,
          "run each scenario with these systems' own parts instead of its strategy, or with those "
          "of a scenario of scenarios/examples (mix_8b_workstation); all: every system")
      ->delimiter(',');
  add_set(*verb, options->question.overrides, "override one value in all of them");
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
    for (std::string& one : run_overrides(options->run, options->question.overrides))
      options->question.overrides.push_back(std::move(one));
    compare(*options);
  });
}

}  // namespace spillway::cli
