#include "answers/simulate/simulate.hpp"
#include "cli/common.hpp"
#include "cli/duration.hpp"
#include "cli/monitor.hpp"
#include "cli/prices.hpp"
#include "cli/report_subject.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "explore/remedies/faster_settings.hpp"
#include "reports/run/remedy_report.hpp"
#include "reports/run/run_page.hpp"
#include "reports/view/html_page.hpp"
#include "reports/words/human.hpp"
#include "scenarios/description/text.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <memory>

namespace spillway::cli {

namespace {

struct ReportOptions {
  std::vector<std::string> what;
  std::vector<std::string> overrides;
  std::string out;
  double limit_s = 600;
  RunOptions run;
  PriceOptions prices;
  bool no_remedy = false;
};

/// `spillway report ...` with the words that were given.
std::string command_of(const ReportOptions& options) {
  std::string text = "spillway report";
  for (const std::string& one : options.what) text += " " + reports::shell_word(one);
  for (const std::string& one : options.overrides) text += " --set " + reports::shell_word(one);
  for (const std::string& one : options.prices.prices)
    text += " --price " + reports::shell_word(one);
  if (!options.prices.offers.empty())
    text += " --prices " + reports::shell_word(options.prices.offers);
  if (options.run.range) text += " --range";
  if (options.no_remedy) text += " --no-remedy";
  return text + " --out " + reports::shell_word(options.out);
}

std::vector<reports::Setting> settings_of(const scenarios::Resolved& resolved) {
  std::vector<reports::Setting> settings;
  for (const scenarios::Setting& one : resolved.settings())
    settings.push_back({one.path, one.value, one.source});
  return settings;
}

/// The scenario with further overrides, or nothing when they contradict it.
explore::Resolve resolver(const Subject& subject, const ReportOptions& options) {
  return explore::resolving([subject, options](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = options.overrides;
    overrides.insert(overrides.end(), more.begin(), more.end());
    description::Scenario scenario = read_subject(subject, overrides).scenario;
    price_anew(options.prices, scenario.machine);
    return scenario;
  });
}

class Maker {
 public:
  explicit Maker(const ReportOptions& options)
      : options_(options), monitor_("simulating what would help", options.limit_s) {}

  /// All but the timeline, in children: they start from a process in which nothing was simulated.
  reports::PageRun page_of(const Subject& subject) {
    reports::PageRun run;
    run.label = subject.label;
    const scenarios::Resolved resolved = resolved_of(subject);
    run.settings = settings_of(resolved);
    if (subject.result) {
      run.result = *subject.result;
      run.validation = subject.validation ? &*subject.validation : nullptr;
    } else {
      run.result = simulated(resolved);
    }
    if (const std::string old = old_prices_words(resolved.scenario.machine); !old.empty())
      run.notes.push_back(old);
    if (answers::needs_remedy(resolved.scenario, run.result) && !options_.no_remedy)
      add_remedies(run, subject, resolved.scenario);
    if (!subject.validation && !options_.no_remedy) add_faster(run, subject);
    return run;
  }

  /// Simulates once more, here, with a trace, which is shown if it is of this result.
  void add_timeline(reports::PageRun& run, const Subject& subject) {
    if (run.result.backend != "sim" || !run.result.feasible()) return;
    monitor_.begin("simulating the timeline", options_.limit_s);
    monitor_.let_go();
    result::Trace trace;
    const result::Result now =
        explore::simulate(monitor_.backend(), resolved_of(subject).scenario, &trace);
    monitor_.clear();
    // with a trace equal ranks are simulated one by one, whose rounding differs
    constexpr double alike = 1e-3;
    if (std::abs(now.step_time_s - run.result.step_time_s) <= alike * run.result.step_time_s)
      run.trace = std::move(trace);
    else
      run.notes.push_back(fmt::format(
          "The result is of another version of spillway: this one says {} a step where it says {}. "
          "So there is no timeline; report its scenario for one.",
          reports::human_time(now.step_time_s), reports::human_time(run.result.step_time_s)));
  }

  void finish() { monitor_.finish(); }

 private:
  scenarios::Resolved resolved_of(const Subject& subject) const {
    scenarios::Resolved resolved = read_subject(subject, options_.overrides);
    print_warnings(resolved);
    price_anew(options_.prices, resolved.scenario.machine);
    warn_of_prices(resolved.scenario.machine);
    return resolved;
  }

  result::Result simulated(const scenarios::Resolved& resolved) {
    answers::SimulateQuestion question;
    question.scenario = resolved;
    question.range = options_.run.range;
    question.begin_run = [&] { monitor_.begin("simulating", options_.limit_s); };
    announce_duration(monitor_, resolved.scenario, options_.limit_s,
                      [&](const explore::Backend& backend, const description::Scenario& part) {
                        answers::SimulateQuestion smaller;
                        smaller.scenario = resolved;
                        smaller.scenario.scenario = part;
                        return answers::simulate(backend, smaller).has_value();
                      });
    monitor_.begin("simulating what would help", options_.limit_s);
    auto simulation = answers::simulate(monitor_.backend(), question);
    monitor_.clear();
    if (!simulation) {
      monitor_.finish();
      throw description::DeviceError(monitor_.why() +
                                     " before the scenario was simulated; --limit SECONDS waits "
                                     "longer");
    }
    return std::move(simulation->result);
  }

  void add_remedies(reports::PageRun& run, const Subject& subject,
                    const description::Scenario& scenario) {
    monitor_.begin("looking for what makes it fit", remedy_limit_s);
    const answer::Remedies remedies = answers::find_remedies(
        monitor_.backend(), scenario, run.result, resolver(subject, options_));
    monitor_.clear();
    for (const auto* remedy : {&remedies.change, &remedies.runnable, &remedies.memory})
      if (*remedy)
        run.remedies.push_back(
            {(*remedy)->words,
             reports::command_with((*remedy)->overrides, subject.word, options_.overrides),
             (*remedy)->result});
  }

  void add_faster(reports::PageRun& run, const Subject& subject) {
    monitor_.begin("looking for faster settings", remedy_limit_s);
    run.faster =
        explore::faster_settings(monitor_.backend(), run.result, resolver(subject, options_));
    monitor_.clear();
  }

  const ReportOptions& options_;
  Monitor monitor_;
};

void report(const ReportOptions& options) {
  require_writable("--out", options.out);
  std::vector<Subject> subjects;
  for (const std::string& word : options.what)
    for (Subject& one : subjects_of(word)) subjects.push_back(std::move(one));
  constexpr std::size_t most = 4;
  if (subjects.size() > most)
    refuse("WHAT", fmt::format("{} runs do not stand side by side on a page", subjects.size()),
           "name at most 4");
  Maker maker(options);
  std::vector<reports::PageRun> runs;
  for (const Subject& subject : subjects) {
    runs.push_back(maker.page_of(subject));
    std::vector<answer::FasterSettings>& faster = runs.back().faster;
    // the page is printed on two sheets, where runs beside each other have narrow columns
    const std::size_t most = subjects.size() > 1 ? 1 : 2;
    if (subjects.size() > 1)
      std::erase_if(faster, [](const auto& one) { return one.overrides.size() > 2; });
    faster.resize(std::min(faster.size(), most));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) maker.add_timeline(runs[i], subjects[i]);
  const std::string page =
      view::to_html(reports::run_page(runs, {command_of(options), version_text()}));
  write_file(options.out, page);
  std::fprintf(stderr, "%s: %s, one file that any browser opens\n",
               description::printable(options.out).c_str(),
               reports::human_bytes(static_cast<double>(page.size())).c_str());
  maker.finish();
}

}  // namespace

void add_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = app.add_subcommand(
      "report", "one page for people: verdict, peaks, timeline, what would help, inputs");
  verb->add_option(
          "what", options->what,
          "a scenario; a result or validation that --json printed; sweep.db:17, a point of "
          "the front of an exploration; several stand side by side")
      ->required();
  verb->add_option("-o,--out", options->out, "the file of HTML to write")
      ->type_name("FILE")
      ->required();
  add_shared_folders(*verb);
  add_set(*verb, options->overrides, "override one value in all of them");
  add_run_options(*verb, options->run);
  add_prices(*verb, options->prices);
  add_limit(*verb, options->limit_s, "seconds for each simulation; else 600");
  verb->add_flag("--no-remedy", options->no_remedy,
                 "do not look for settings that make it fit or faster");
  verb->footer(
      "Example:\n  spillway report qwen7b_workstation qwen7b_one_box_mix --out report.html");
  verb->callback([options] {
    for (std::string& one : run_overrides(options->run, options->overrides))
      options->overrides.push_back(std::move(one));
    report(*options);
  });
}

}  // namespace spillway::cli
