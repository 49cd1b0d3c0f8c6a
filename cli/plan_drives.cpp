#include "answers/plan/drives.hpp"
#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "reports/plan/plan_report.hpp"

#include <memory>

namespace spillway::cli {

namespace {

struct DrivesOptions {
  answers::DrivesQuestion question;
  std::string scenario;
  std::vector<std::string> overrides;
  double limit_s = plan_limit_s;
  bool json = false;
};

void plan_drives(DrivesOptions options) {
  options.question.scenario = read(options.scenario, options.overrides).scenario;
  options.question.today = today();
  warn_of_prices(options.question.scenario.machine);
  Monitor monitor("numbers of drives", options.limit_s);
  const answer::Drives found = answers::drives(monitor.backend(), options.question);
  monitor.clear();
  if (options.json)
    print_json(found);
  else
    print(reports::drives_report(found, reports::screen_of(stdout)));
  finish(monitor, found.counts, found.cheapest() != nullptr, options.json);
}

}  // namespace

void add_plan_drives(CLI::App& plan) {
  auto options = std::make_shared<DrivesOptions>();
  CLI::App* verb = plan.add_subcommand(
      "drives", "how many drives are enough, of which kind, how long they last");
  verb->add_option("scenario", options->scenario, "what is trained on them")->required();
  verb->add_option("--storage", options->question.storage,
                   "array of the machine whose drives are counted; else the busiest");
  verb->add_option("--most", options->question.most, "drives that are tried at most")
      ->check(CLI::Range(std::uint64_t{1}, most_jobs));
  verb->add_option("--parts", options->question.parts,
                   "tries the drives of this price list too: a name of scenarios/parts or a file");
  verb->add_option("--lifetime", options->question.years,
                   "years that their flash has to last; the maker's warranty is told beside it")
      ->check(positive_number());
  add_set(*verb, options->overrides, "override one value of all that is tried");
  add_limit(*verb, options->limit_s, plan_limit_help);
  verb->add_flag("--json", options->json, "with the whole result of everything that was simulated");
  verb->footer(
      "Example:\n  spillway plan drives scenarios/examples/lohan_13b_batch32.json --parts one_box");
  verb->callback([options] { plan_drives(*options); });
}

}  // namespace spillway::cli
