#include "answers/fit/fit.hpp"
#include "answers/fit/box.hpp"
#include "answers/simulate/simulate.hpp"
#include "cli/common.hpp"
#include "cli/method_options.hpp"
#include "cli/monitor.hpp"
#include "cli/plan_common.hpp"
#include "cli/prices.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "reports/plan/fit_report.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/document/read_machine.hpp"

#include <ctime>
#include <memory>

namespace spillway::cli {

using nlohmann::json;

namespace {

/// Seconds after which what was found so far is the answer.
constexpr double fit_limit_s = 60;

struct FitVerbOptions {
  std::string model, machine, parts, out;
  answers::BoxWords box;
  PriceOptions prices;
  std::uint64_t context = 0;
  double limit_s = fit_limit_s;
  RunOptions run;
  MethodOptions method;
  std::vector<std::string> systems, overrides;
  bool runnable = false, json = false;
};

/// The box that is said in words, of parts at the prices that are asked for.
answers::NamedBox box_in_words(const FitVerbOptions& options) {
  if (options.box.gpu.empty())
    refuse("--gpu", "missing", "write for example --gpu 4090x2, or --machine NAME");
  scenarios::PriceList list = options.parts.empty() ? scenarios::part_catalogue()
                                                    : scenarios::read_price_list(options.parts);
  const auto offers = scenarios::read_offers(options.prices.prices, options.prices.offers);
  scenarios::apply_offers(offers, list);
  scenarios::price_catalogue(offers);  // of what the change buys
  answers::NamedBox box = answers::box_of(options.box, list);
  auto machine = box.machine.get<description::MachineFile>();
  if (options.prices.any()) price_anew(options.prices, machine);  // refuses what has no effect
  box.machine = machine;
  return box;
}

answers::FitQuestion question_of(const FitVerbOptions& options, std::vector<text::Text>& notes) {
  answers::FitQuestion question;
  question.model = options.model;
  const answers::BoxWords& said = options.box;
  if (options.machine.empty()) {
    answers::NamedBox box = box_in_words(options);
    question.machine = std::move(box.machine);
    notes = std::move(box.notes);
  } else {
    if (!said.gpu.empty() || !said.ram.empty() || !said.ssd.empty() || !said.board.empty())
      refuse("--machine", "stands beside --gpu, --ram, --ssd or --board", "say the box in one way");
    question.machine = options.machine;
    if (options.prices.any()) {
      description::MachineFile machine = scenarios::read_machine(options.machine);
      price_anew(options.prices, machine);
      question.machine = machine;
    }
  }
  if (options.context > 0) question.context = options.context;
  question.tokens = tokens_of(options.run, options.overrides);
  question.runnable = options.runnable;
  question.systems = options.systems;
  question.overrides = method_overrides(options.method);
  question.overrides.insert(question.overrides.end(), options.overrides.begin(),
                            options.overrides.end());
  return question;
}

std::string box_name(const FitVerbOptions& options, const json& machine) {
  return options.machine.empty() ? machine.at("name").get<std::string>() : options.machine;
}

void fit(const FitVerbOptions& options) {
  if (!options.out.empty()) require_writable("--out", options.out);
  std::vector<text::Text> notes;
  const answers::FitQuestion question = question_of(options, notes);
  Monitor monitor("ways to train", options.limit_s);
  answers::FitAnswer answer = answers::fit(monitor.backend(), question);
  monitor.clear();
  answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
  for (auto* result : {&answer.runnable, &answer.best})
    if (*result) answers::date_prices(**result, today());
  if (!options.out.empty() && answer.fits)
    write_file(options.out, scenario_text(answer.answer()->scenario));
  if (options.json) {
    print_json(json(answer));
  } else {
    const reports::FitWords words{options.model, box_name(options, question.machine), options.out,
                                  options.runnable, std::time(nullptr)};
    print(reports::fit_report(words, answer, reports::screen_of(stdout)));
    if (const result::Result* result = answer.answer())
      if (const std::string old = old_prices_words(*result); !old.empty()) print_paragraph(old);
  }
  if (monitor.ended() && !options.json)
    print_paragraph(monitor.why() +
                    ": there may be a better answer. --limit SECONDS waits longer.");
  monitor.finish();
  if (monitor.ended() && !answer.fits) throw CLI::RuntimeError(no_answer);
}

}  // namespace

void add_fit(CLI::App& app) {
  auto options = std::make_shared<FitVerbOptions>();
  CLI::App* verb = app.add_subcommand(
      "fit", "does a model train on a box, how fast, at what cost: no file needed");
  verb->add_option("model", options->model, "a name of models/library or a config.json")
      ->required();
  verb->add_option("--gpu", options->box.gpu, "cards and how many: 4090x2")->type_name("CARD[xN]");
  verb->add_option("--ram", options->box.ram, "host memory: 128G")->type_name("SIZE");
  verb->add_option("--ssd", options->box.ssd,
                   "drives, by size or name, and how many: 2Tx2, \"990 PRO 4TBx2\"")
      ->type_name("DRIVE[xN]");
  verb->add_option("--board", options->box.board,
                   "board with its processor: desktop, workstation, server; else the cheapest that "
                   "takes the rest");
  verb->add_option("--machine", options->machine,
                   "in place of these a name of scenarios/machines or a file");
  verb->add_option(
      "--parts", options->parts,
      "where cards, boards, drives and prices are from: a name of scenarios/parts or a "
      "file; else all of scenarios/parts/catalogue");
  add_prices(*verb, options->prices);
  verb->add_option("--context", options->context, "tokens of a sample; else 4096")
      ->check(positive_number());
  add_method(*verb, options->method);
  add_tokens(*verb, options->run);
  verb->add_flag("--runnable", options->runnable,
                 "only what people can start today: DeepSpeed, PyTorch, Megatron-LM, Colossal-AI");
  verb->add_option("--system", options->systems,
                   "only these systems; else all whose updates come in time")
      ->delimiter(',');
  verb->add_option("-o,--out", options->out, "where the scenario of the answer is written");
  add_shared_folders(*verb);
  add_set(*verb, options->overrides, "override one value of all that is tried");
  add_limit(*verb, options->limit_s, "seconds after which what was found is the answer; else 60");
  verb->add_flag("--json", options->json, "the answer as JSON, with both results");
  verb->footer("Example:\n  spillway fit llama-3.2-1b --gpu 4090 --ram 64G --ssd 2T --tokens 1B");
  verb->callback([options] { fit(*options); });
}

}  // namespace spillway::cli
