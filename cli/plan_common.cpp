#include "cli/plan_common.hpp"

#include "cli/common.hpp"
#include "reports/words/human.hpp"
#include "reports/words/table.hpp"
#include "scenarios/document/read_machine.hpp"

#include <fmt/format.h>
#include <cstdio>

namespace spillway::cli {

void add_plan_options(CLI::App& verb, PlanOptions& options) {
  verb.add_option("--machine", options.machine, "a name of scenarios/machines or a file")
      ->required();
  add_way_options(verb, options);
  verb.add_option("--precision", options.precision, "of the training");
  verb.add_option("--sequence", options.sequence, sequence_help)->check(positive_number());
  add_method(verb, options.method);
}

void add_plan_ending(CLI::App& verb, PlanOptions& options) {
  add_limit(verb, options.limit_s, plan_limit_help);
  add_set(verb, options.overrides, "override one value of all that is tried");
  add_run_options(verb, options.run);
  add_prices(verb, options.prices);
  verb.add_flag("--json", options.json, "with the whole result of everything that was simulated");
}

answers::PlanQuestion question_of(const PlanOptions& options) {
  answers::PlanQuestion question;
  static_cast<answers::WayOptions&>(question) = options;
  question.machine = options.machine;
  if (options.prices.any()) {
    description::MachineFile machine = scenarios::read_machine(options.machine);
    price_anew(options.prices, machine);
    question.machine = machine;
    question.shown_by = machine.shown_by;
  }
  question.models = options.models;
  question.precision = options.precision;
  question.sequence = options.sequence;
  question.overrides = method_overrides(options.method);
  question.overrides.insert(question.overrides.end(), options.overrides.begin(),
                            options.overrides.end());
  question.tokens = tokens_of(options.run, options.overrides);
  question.range = options.run.range;
  question.today = today();
  return question;
}

void add_way_options(CLI::App& verb, answers::WayOptions& options) {
  verb.add_flag("--runnable", options.runnable,
                "only what people can start today: DeepSpeed, PyTorch, Megatron-LM, Colossal-AI");
  verb.add_option("--system", options.systems,
                  "only these systems; else all whose updates come in time")
      ->delimiter(',');
  verb.add_option("--mix", options.mixes,
                  "the parts of these scenarios too: files or names of scenarios/examples; without "
                  "--system the mix_* there; none: no mixes")
      ->delimiter(',');
}

void add_batch_options(CLI::App& verb, answers::WayOptions& options) {
  verb.add_option("--micro-batch", options.batches, "samples a card and pass that are tried")
      ->delimiter(',')
      ->check(positive_number());
  CLI::Option* global =
      verb.add_option("--global-batch", options.global_batch,
                      "samples of a step: only splits into micro-batches that make so many")
          ->check(positive_number());
  verb.add_option("--accumulation", options.accumulations, "micro-batches a step that are tried")
      ->delimiter(',')
      ->check(positive_number())
      ->excludes(global);
}

void finish(const Monitor& monitor, const answer::TrialCounts& counts, bool found, bool as_json) {
  if (monitor.ended()) {
    std::string text = monitor.why();
    if (counts.not_tried > 0)
      text += fmt::format("; {} not tried, so there may be {} answer",
                          reports::human_count(counts.not_tried), found ? "a better" : "an");
    text += monitor.interrupted() ? "." : ". --limit SECONDS waits longer.";
    if (as_json)
      std::fprintf(stderr, "%s\n", text.c_str());
    else
      print_paragraph(text);
  }
  monitor.finish();
  if (monitor.ended() && !found) throw CLI::RuntimeError(no_answer);
}

void print_paragraph(const std::string& text) {
  print(reports::paragraph(text, reports::screen_of(stdout)));
}

}  // namespace spillway::cli
