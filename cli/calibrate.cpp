#include "answers/calibrate/calibrate.hpp"

#include "cli/common.hpp"
#include "cli/monitor.hpp"
#include "cli/prices.hpp"
#include "cli/verbs.hpp"
#include "reports/inputs/calibration_report.hpp"

#include <memory>

namespace spillway::cli {

namespace {

struct CalibrateOptions {
  answers::CalibrateQuestion question;
  std::string out;
  bool json = false;
};

void calibrate(CalibrateOptions options) {
  if (!options.out.empty()) require_writable("--out", options.out);
  if (options.question.scenario.empty() && !options.question.overrides.empty())
    refuse("--set", "there is no scenario to change", "name one with --scenario");
  options.question.today = today();
  Monitor monitor("simulating", Monitor::forever);
  const answer::Calibration answer = answers::calibrate(monitor.backend(), options.question);
  monitor.clear();
  if (!options.out.empty()) write_file(options.out, answer.machine.dump(2) + "\n");
  if (options.json) return print_json(answer);
  print(reports::calibration_report(answer, reports::screen_of(stdout)));
  if (!options.out.empty())
    print("\nMachine file: " + options.out + ". Use it with --set machine=" + options.out + "\n");
  monitor.finish();
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* verb = app.add_subcommand(
      "calibrate", "a machine file with numbers from what you have: fio, SMART, logs, traces");
  verb->add_option("machine", options->question.machine, "shipped name or machine file")
      ->required();
  verb->add_option(
          "--from", options->question.files,
          "fio or smartctl JSON, nvidia-smi -q, lscpu, dmidecode, hwloc XML, a training's log, a "
          "profiler's trace, a table of runs; of one storage of several: NAME=FILE")
      ->required()
      ->type_name("FILE");
  verb->add_option("--scenario", options->question.scenario,
                   "what logged runs trained: its prediction stands beside them")
      ->type_name("FILE");
  verb->add_option("-o,--out", options->out, "machine file to write");
  verb->add_option("--name", options->question.name, "name of the new machine");
  add_shared_folders(*verb);
  verb->add_flag("--json", options->json, "the answer as JSON, the machine file in it");
  add_set(*verb, options->question.overrides, "override one value of the scenario");
  verb->footer(
      "Example:\n  spillway calibrate gaming_4090 --from tests/data/evidence/fio.json "
      "tests/data/evidence/smartctl.json --out my_box.json");
  verb->callback([options] { calibrate(*options); });
}

}  // namespace spillway::cli
