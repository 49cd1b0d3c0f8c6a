#include "answers/plan/largest.hpp"
#include "answers/plan/machine.hpp"
#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/words/human.hpp"

#include <memory>

namespace spillway::cli {

namespace {

struct BoxOptions {
  answers::MachineQuestion question;
  PriceOptions prices;
  std::string parts = "one_box", out, machine_out;
  double limit_s = plan_limit_s;
  RunOptions run;
  MethodOptions method;
  bool json = false;
};

/// The price list at the prices that are asked for.
void read_parts(const PriceOptions& prices, BoxOptions& options) {
  answers::MachineQuestion& question = options.question;
  question.list = scenarios::read_price_list(options.parts);
  const auto offers = scenarios::read_offers(prices.prices, prices.offers);
  question.prices = scenarios::hourly_overrides(offers);
  if (scenarios::apply_offers(offers, question.list) + question.prices.size() == 0 &&
      !offers.empty())
    refuse("--price", "the list " + question.list.name + " has none of these parts",
           "name one that it has");
}

void plan_machine(BoxOptions options) {
  read_parts(options.prices, options);
  std::vector<std::string>& overrides = options.question.overrides;
  const std::vector<std::string> method = method_overrides(options.method);
  overrides.insert(overrides.begin(), method.begin(), method.end());
  options.question.tokens = tokens_of(options.run, overrides);
  options.question.range = options.run.range;
  options.question.today = today();
  for (const std::string& note : answers::notes_of_models({options.question.model})) warn(note);
  Monitor monitor("boxes", options.limit_s);
  const answers::MachineFound found =
      answers::machine(monitor.backend(), options.question, [&monitor](double price_usd) {
        monitor.say("boxes for " + reports::human_price(price_usd));
      });
  monitor.clear();
  std::vector<OutputFile> files;
  if (found.answer.answer && !options.out.empty())
    files.push_back({options.out, scenario_text(found.answer.answer->trial.result->scenario)});
  if (found.answer.answer && !options.machine_out.empty())
    files.push_back({options.machine_out, found.machine.dump(2) + "\n"});
  write_files(files);
  if (options.json)
    print_json(found.answer);
  else
    print(reports::machine_report(found.answer, reports::screen_of(stdout)));
  finish(monitor, {}, found.answer.answer.has_value(), options.json);
}

}  // namespace

void add_plan_machine(CLI::App& plan) {
  auto options = std::make_shared<BoxOptions>();
  CLI::App* verb =
      plan.add_subcommand("machine", "the cheapest box that trains a model fast enough");
  verb->add_option("--model", options->question.model, "a name of models/library or a file")
      ->required();
  verb->add_option("--tokens-per-day", options->question.tokens_per_day,
                   "what it has to train at least, such as 60M")
      ->transform(count_with_suffix())
      ->check(positive_number())
      ->required();
  verb->add_option("--budget,--budget-usd", options->question.budget_usd,
                   "dollars that it may cost at most")
      ->check(positive_number())
      ->required();
  verb->add_option("--parts", options->parts,
                   "cards, boards and drives to choose from: a name of scenarios/parts or a file; "
                   "else one_box");
  add_prices(*verb, options->prices);
  verb->add_option(
          "--lifetime", options->question.years,
          "years that the flash of its drives has to last; the maker's warranty is told beside "
          "it")
      ->check(positive_number());
  add_way_options(*verb, options->question);
  add_batch_options(*verb, options->question);
  add_run_options(*verb, options->run);
  verb->add_option("--precision", options->question.precision, "of the training");
  verb->add_option("--sequence", options->question.sequence, sequence_help)
      ->check(positive_number());
  add_method(*verb, options->method);
  verb->add_option("--most", options->question.most, "simulations at most before the answer stands")
      ->check(positive_number());
  verb->add_option("-o,--out", options->out, "where the scenario of the answer is written");
  verb->add_option("--machine-out", options->machine_out,
                   "where the machine file of the answer is written");
  add_shared_folders(*verb);
  add_set(*verb, options->question.overrides, "override one value of all that is tried");
  add_limit(*verb, options->limit_s, plan_limit_help);
  verb->add_flag("--json", options->json, "with the whole result of what is shown");
  verb->footer(
      "Example:\n  spillway plan machine --model gpt2-xl --tokens-per-day 20e6 --budget 5000 "
      "--sequence 1024");
  verb->callback([options] { plan_machine(*options); });
}

}  // namespace spillway::cli
