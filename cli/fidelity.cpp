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
  std::string filter, open, fit, write;
  std::size_t jobs = 0;
  bool json = false, record = false;
};

/// The open list; a shipped one that is not there is empty, one that was asked for must be there.
std::vector<scenarios::OpenFigure> open_list(const FidelityOptions& options) {
  const std::string file = options.open.empty() ? scenarios::open_figures_file() : options.open;
  const bool absent = !std::filesystem::exists(file);
  if (absent && (options.open.empty() || options.record)) return {};
  return scenarios::read_open_figures(file);
}

/// An open figure that no file has was renamed or dropped: its entry would protect nothing.
void check_known(const std::vector<scenarios::OpenFigure>& open,
                 const std::vector<scenarios::Figure>& figures) {
  std::vector<std::string> ids;
  for (const scenarios::Figure& figure : figures) ids.push_back(figure.id);
  std::vector<description::Complaint> complaints;
  for (const scenarios::OpenFigure& one : open)
    if (std::find(ids.begin(), ids.end(), one.id) == ids.end()) {
      complaints.push_back({one.place.file, one.place.line, one.place.column, "id",
                            "no figure \"" + one.id + "\"", ""});
      const std::string near = description::nearest_name(one.id, ids);
      if (!near.empty()) complaints.back().hint = "did you mean \"" + near + "\"?";
    }
  if (!complaints.empty()) throw description::ScenarioError(std::move(complaints));
}

void record(const FidelityOptions& options, const result::Fidelity& fidelity,
            const std::vector<scenarios::OpenFigure>& open) {
  const std::string file = options.open.empty() ? scenarios::open_figures_file() : options.open;
  const auto list = explore::recorded(fidelity, open);
  write_file(file, scenarios::write_open_figures(list));
  std::string text = fmt::format("{}: {} open figures\n", file, list.size());
  for (const scenarios::OpenFigure& one : list)
    if (one.reason.empty()) text += "  needs a reason: " + one.id + "\n";
  print(text);
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
  // the shipped list is about the shipped figures
  const auto open =
      shipped || !options.open.empty() ? open_list(options) : std::vector<scenarios::OpenFigure>{};
  check_known(open, figures);
  const auto wanted = explore::filtered(figures, options.filter);
  if (wanted.empty())
    throw description::ScenarioError(
        {{"--filter", 0, 0, "", "no figure has \"" + options.filter + "\" in its id or source",
          "spillway fidelity lists all"}});
  Monitor monitor("simulating", Monitor::forever);
  monitor.let_go();  // a table of some of the figures would say something else
  const result::Fidelity found = explore::judge(monitor.backend(), wanted, open, options.jobs);
  monitor.clear();
  if (options.record) return record(options, found, open);
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
  CLI::Option* json = verb->add_flag("--json", options->json, "all figures and sums as JSON");
  verb->add_flag("--record", options->record,
                 "write what does not hold into the open list, reasons kept")
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
      "Exit code 1: a figure misses, an open one moved by 2 % (DRIFT) or holds now (CLOSED).\n"
      "Examples:\n  spillway fidelity --filter memascend.qwen7b\n  spillway fidelity --fit "
      "lohan_4090");
  verb->callback([options] { fidelity(*options); });
}

}  // namespace spillway::cli
