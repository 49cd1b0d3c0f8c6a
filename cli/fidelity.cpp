#include "explore/fidelity/fidelity.hpp"
#include "cli/common.hpp"
#include "cli/monitor.hpp"
#include "cli/verbs.hpp"
#include "explore/fidelity/fit.hpp"
#include "reports/fidelity/fidelity_table.hpp"
#include "reports/fidelity/fit_table.hpp"
#include "scenarios/json/schema_check.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <memory>

namespace spillway::cli {

namespace {

struct FidelityOptions {
  std::vector<std::string> files;
  std::string filter, open, beyond, fit, write;
  std::size_t jobs = 0;
  bool json = false, record = false;
};

/// The files of what is known of figures; "": none. Shipped lists are about shipped figures.
struct ListFiles {
  explicit ListFiles(const FidelityOptions& options) : open(options.open), beyond(options.beyond) {
    if (!options.files.empty()) return;
    if (open.empty()) open = scenarios::open_figures_file();
    if (beyond.empty()) beyond = scenarios::beyond_figures_file();
  }
  std::string open, beyond;
};

/// A list; a shipped one that is not there is empty, one that was asked for must be there.
std::vector<scenarios::OpenFigure> list_of(const std::string& file, bool asked_for) {
  if (file.empty() || (!asked_for && !std::filesystem::exists(file))) return {};
  return scenarios::read_open_figures(file);
}

scenarios::KnownFigures known_figures(const FidelityOptions& options) {
  const ListFiles files(options);
  return {list_of(files.open, !options.open.empty() && !options.record),
          list_of(files.beyond, !options.beyond.empty() && !options.record)};
}

/// Complains of entries whose figure no file has, because it was renamed or dropped, and of those
/// that both lists have.
void check_known(const scenarios::KnownFigures& known,
                 const std::vector<scenarios::Figure>& figures) {
  std::vector<std::string> ids, open;
  for (const scenarios::Figure& figure : figures) ids.push_back(figure.id);
  for (const scenarios::OpenFigure& one : known.open) open.push_back(one.id);
  std::vector<description::Complaint> complaints;
  const auto complain = [&](const scenarios::OpenFigure& one, const std::string& message,
                            const std::string& hint) {
    complaints.push_back({one.place.file, one.place.line, one.place.column, "id", message, hint});
  };
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto* list : {&known.open, &known.beyond})
    for (const scenarios::OpenFigure& one : *list)
      if (!has(ids, one.id)) {
        const std::string near = description::nearest_name(one.id, ids);
        complain(one, "no figure \"" + one.id + "\"",
                 near.empty() ? "" : "did you mean \"" + near + "\"?");
      }
  for (const scenarios::OpenFigure& one : known.beyond)
    if (has(open, one.id))
      complain(one, "\"" + one.id + "\" is in the list of open figures",
               "keep its reason there only");
  if (!complaints.empty()) throw description::ScenarioError(std::move(complaints));
}

std::string recorded_words(const std::string& file, const std::string& what,
                           const std::vector<scenarios::OpenFigure>& list) {
  std::string text = fmt::format("{}: {} {}\n", file, list.size(), what);
  for (const scenarios::OpenFigure& one : list)
    if (one.reason.empty()) text += "  needs a reason: " + one.id + "\n";
  return text;
}

void record(const FidelityOptions& options, const result::Fidelity& fidelity,
            const scenarios::KnownFigures& known) {
  const ListFiles files(options);
  const scenarios::KnownFigures lists = explore::recorded(fidelity, known);
  write_file(files.open, scenarios::write_open_figures(lists.open));
  print(recorded_words(files.open, "open figures", lists.open));
  if (files.beyond.empty()) return;
  write_file(files.beyond, scenarios::write_open_figures(lists.beyond));
  print(recorded_words(files.beyond, "figures beyond the common tolerance", lists.beyond));
}

void fit(const FidelityOptions& options, const std::vector<scenarios::Figure>& figures) {
  Monitor monitor("fitting", Monitor::forever);
  monitor.let_go();
  const explore::Fitted found =
      explore::fit_machine(monitor.backend(), figures, options.fit, options.jobs);
  monitor.clear();
  if (options.json) {
    print_json(found.fit);
  } else {
    print(reports::fit_table(found.fit, reports::screen_of(stdout)));
  }
  if (!options.write.empty()) write_file(options.write, found.machine_file);
}

void fidelity(const FidelityOptions& options) {
  const bool shipped = options.files.empty();
  const auto figures =
      scenarios::read_figures(shipped ? scenarios::published_files() : options.files);
  if (!options.fit.empty()) return fit(options, explore::filtered(figures, options.filter));
  if (options.record && ListFiles(options).open.empty())
    throw description::ScenarioError({{"--record", 0, 0, "", "no list to write figures into",
                                       "name one of your own with --open"}});
  const scenarios::KnownFigures known = known_figures(options);
  check_known(known, figures);
  const auto wanted = explore::filtered(figures, options.filter);
  if (wanted.empty())
    throw description::ScenarioError(
        {{"--filter", 0, 0, "", "no figure has \"" + options.filter + "\" in its id or source",
          "spillway fidelity lists all"}});
  Monitor monitor("simulating", Monitor::forever);
  monitor.let_go();  // a table of some of the figures would say something else
  const result::Fidelity found = explore::judge(monitor.backend(), wanted, known, options.jobs);
  monitor.clear();
  if (options.record) return record(options, found, known);
  if (options.json) {
    print_json(found);
  } else {
    print(reports::fidelity_table(found, reports::screen_of(stdout)));
    print("\n" + reports::fidelity_headline(found));
  }
  if (found.overall.failed > 0) throw CLI::RuntimeError(does_not_hold);
}

}  // namespace

void add_fidelity(CLI::App& app) {
  auto options = std::make_shared<FidelityOptions>();
  CLI::App* verb = app.add_subcommand("fidelity", "published figures against simulated ones");
  verb->add_option("files", options->files, "files of figures; default: all that ship");
  verb->add_option("--filter", options->filter, "only figures with this in their id or source");
  verb->add_option("--jobs", options->jobs, "simulations at a time; default: one a core");
  verb->add_option("--open", options->open,
                   "list of figures known not to be met; default: tests/fidelity/open.json");
  verb->add_option("--beyond", options->beyond,
                   "list of figures that are met, but not at the tolerance common to their kind; "
                   "default: tests/fidelity/beyond.json");
  CLI::Option* json = verb->add_flag("--json", options->json, "all figures and sums as JSON");
  verb->add_flag(
          "--record", options->record,
          "write what does not hold into the open list, and new values into both, reasons kept")
      ->excludes(json);
  CLI::Option* fit = verb->add_option(
      "--fit", options->fit, "fit this machine's parameters again, and say what they rest on");
  verb->add_option("--write,--out", options->write,
                   "with --fit: write the fitted machine file here")
      ->needs(fit);
  add_shared_folders(*verb);
  verb->footer(
      "ok: within its tolerance; open: known not to be, where the list says; SKIP: cannot run "
      "yet.\n"
      "Exit code 1: a figure misses, a listed one moved by 2 % (DRIFT) or holds now (CLOSED).\n"
      "The last table counts figures by one tolerance a kind: within it; beyond it with a "
      "mechanism "
      "named; unexplained.\n"
      "Examples:\n  spillway fidelity --filter memascend.qwen7b\n  spillway fidelity --fit "
      "lohan_4090");
  verb->callback([options] { fidelity(*options); });
}

}  // namespace spillway::cli
