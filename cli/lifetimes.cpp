#include "answers/lifetimes/lifetimes.hpp"

#include "cli/common.hpp"
#include "cli/monitor.hpp"
#include "cli/verbs.hpp"
#include "reports/inputs/lifetimes_report.hpp"
#include "scenarios/reading/lifetimes_file.hpp"

#include <memory>

namespace spillway::cli {

namespace {

struct LifetimesOptions {
  std::string file, machine, output;
  std::vector<std::string> overrides;
  std::uint32_t rank = 0;
  bool roofline = false, json = false;
};

void lifetimes(const LifetimesOptions& options) {
  Monitor monitor("simulating plans", Monitor::forever);
  answers::Profile profile;
  answers::TakenPlan taken;
  if (options.file.ends_with(".csv")) {
    profile = answers::profile_of(options.file, options.machine, options.overrides, options.rank);
  } else {
    taken = answers::taken_plan(monitor.backend(), read(options.file, options.overrides).scenario);
    profile = answers::profile_of(taken.scenario, options.rank);
  }
  monitor.clear();
  if (profile.lifetimes.partial) warn("the profile is partial: some ranges are guesses");
  if (!options.output.empty()) {
    const auto text = scenarios::write_lifetimes(profile.lifetimes);
    write_files(
        {{options.output, text.tensors}, {scenarios::kernels_file(options.output), text.kernels}});
  }
  answer::MigrationPlan plan = answers::plan_lifetimes(profile, options.roofline);
  plan.note = std::move(taken.note);
  if (options.json) return print_json(plan);
  print(reports::lifetimes_report(plan, reports::screen_of(stdout)));
}

}  // namespace

void add_lifetimes(CLI::App& app) {
  auto options = std::make_shared<LifetimesOptions>();
  CLI::App* verb = app.add_subcommand(
      "lifetimes", "when tensors are used, and a plan of where they are meanwhile");
  verb->add_option("file", options->file, "scenario, or a profile (.csv, from `import` or -o)")
      ->required();
  verb->add_option("--machine", options->machine, "of a profile: shipped name or machine file");
  verb->add_option("--rank", options->rank, "pipeline stage; default: 0");
  verb->add_flag("--roofline", options->roofline,
                 "throughput over ideal against the migration rate of a GPU");
  verb->add_option("-o,--out,--output", options->output, "profile to write, its kernels beside it");
  add_shared_folders(*verb);
  verb->add_flag("--json", options->json, "the answer as JSON");
  add_set(*verb, options->overrides, "override one value of the scenario");
  verb->footer(
      "Example:\n  spillway lifetimes scenarios/examples/tiny.json --set "
      "strategy.system=teraio --roofline");
  verb->callback([options] { lifetimes(*options); });
}

}  // namespace spillway::cli
