#include "answers/plan/largest.hpp"
#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "cli/verbs.hpp"
#include "reports/plan/plan_report.hpp"

#include <memory>

namespace spillway::cli {

namespace {

void plan_largest(const PlanOptions& options) {
  const answers::PlanQuestion question = question_of(options);
  for (const std::string& note : answers::notes_of_models(options.models)) warn(note);
  Monitor monitor("models", options.limit_s);
  const answer::Largest found = answers::largest(
      monitor.backend(), question, [&monitor](const std::string& what) { monitor.say(what); });
  monitor.clear();
  if (const answer::Trial* largest = found.largest()) warn_of_prices(*largest->result);
  if (options.json)
    print_json(found);
  else
    print(reports::largest_report(found, reports::screen_of(stdout)));
  finish(monitor, found.counts, found.largest() != nullptr, options.json);
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("plan", "what to buy, and what to do with what one has");
  verb->require_subcommand(1);
  verb->footer("Example:\n  spillway plan drives scenarios/examples/lohan_13b_batch32.json");
  auto largest = std::make_shared<PlanOptions>();
  add_plan_settings(*verb);
  add_plan_machine(*verb);
  add_plan_drives(*verb);
  CLI::App* own =
      verb->add_subcommand("largest", "largest model, longest context, largest batch that fit");
  own->add_option("--model", largest->models, "models, or the beginning of their names")
      ->delimiter(',')
      ->required();
  add_plan_options(*own, *largest);
  own->add_option("--accumulation", largest->accumulations,
                  "micro-batches a step, between which gradients are kept; else 1")
      ->expected(1)
      ->check(positive_number());
  add_plan_ending(*own, *largest);
  own->footer(
      "Example:\n  spillway plan largest --model qwen2.5 --machine gaming_4090 --system memascend");
  own->callback([largest] { plan_largest(*largest); });
}

}  // namespace spillway::cli
