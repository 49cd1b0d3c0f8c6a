#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "explore/box_search.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>

namespace spillway::cli {

using explore::BoxNeed;
using explore::BoxOffer;
using explore::BoxSearch;
using nlohmann::json;
using reports::Align;
using scenarios::PriceList;

namespace {

struct Options : WayOptions {
  std::string model, parts = "one_box", precision = "bf16_mixed", out, machine_out;
  std::vector<std::string> overrides;
  std::uint64_t sequence = 4096, most = 5000;
  double tokens_per_day = 0, budget = 0, years = 0;
  bool json = false;
};

BoxNeed need_of(const Options& options, const PriceList& list) {
  BoxNeed need;
  need.job = {{"model", options.model},
              {"training", {{"precision", options.precision}, {"sequence", options.sequence}}},
              {"strategy", {{"system", "zero_infinity"}}},
              {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  json base = need.job;
  if (const auto boxes = boxes_of(list); !boxes.empty())
    base["machine"] = machine_of(list, boxes.back());
  for (const Way& way : runnable_ways(options, base, options.overrides))
    for (const std::uint64_t batch : options.batches)
      for (const std::uint64_t accumulation : options.accumulations)
        need.settings.push_back({fmt::format("{}, micro-batch {}", way.name, batch),
                                 way.name,
                                 {way.overrides},
                                 !options.systems.empty() || !way.plans,
                                 batch,
                                 accumulation});
  need.global_batch = options.global_batch;
  need.overrides = options.overrides;
  need.tokens_per_day = options.tokens_per_day;
  need.budget_usd = options.budget;
  if (options.years > 0) need.years = options.years;
  return need;
}

double tokens_per_day(const result::Result& result) { return result.tokens_per_s * 86400; }

json box_json(const PriceList& list, const BoxOffer& offer) {
  const scenarios::HostPart& host = list.hosts[offer.box.host];
  json box = {{"gpu", list.gpus[offer.box.gpu].name},
              {"gpus", offer.box.gpus},
              {"host", host.name},
              {"host_memory_bytes", host.memory[offer.box.memory].value()},
              {"drive", nullptr},
              {"drives", offer.box.drives}};
  if (offer.box.drives > 0) box["drive"] = list.drives[offer.box.drive].name;
  return {{"change", offer.change},
          {"words", words_of(list, offer.box)},
          {"box", box},
          {"price_usd", offer.price_usd},
          {"meets", offer.meets},
          {"trial", trial_json(offer.trial)}};
}

json list_json(const PriceList& list, const std::vector<BoxOffer>& offers) {
  json all = json::array();
  for (const BoxOffer& offer : offers) all.push_back(box_json(list, offer));
  return all;
}

json search_json(const PriceList& list, const BoxSearch& found) {
  return {{"answer", found.answer ? box_json(list, *found.answer) : json()},
          {"whole", found.whole()},
          {"boxes", found.boxes},
          {"cheaper", found.cheaper},
          {"ruled_out", found.ruled_out},
          {"missed", found.missed},
          {"late_systems", found.late_systems},
          {"late_missed", found.late_missed},
          {"bounded", found.bounded},
          {"simulated", found.simulated},
          {"neighbours", list_json(list, found.neighbours)},
          {"systems", list_json(list, found.systems)},
          {"runners_up", list_json(list, found.runners_up)}};
}

/// Why an offer is not the answer.
std::string verdict(const BoxOffer& offer, const BoxNeed& need) {
  if (!offer.trial.fits()) return offer.trial.reason;
  const double share = tokens_per_day(*offer.trial.result) / need.tokens_per_day - 1;
  if (share < 0) return fmt::format("{:.1f} % too slow", -100 * share);
  if (!offer.meets) return "drives wear out too soon";
  if (offer.price_usd > need.budget_usd) return "above the budget";
  return "yes";
}

void add_row(reports::Table& table, const std::string& what, const BoxOffer& offer,
             const BoxNeed& need) {
  auto& cells = table.rows.emplace_back(std::vector<reports::Cell>{what});
  cells.push_back(reports::human_price(offer.price_usd));
  cells.push_back(offer.trial.words);
  if (offer.trial.fits()) {
    const result::Result& result = *offer.trial.result;
    const bool worn = result.wear && result.wear->lifetime_years;
    cells.push_back(reports::human_number(tokens_per_day(result)));
    cells.push_back(worn ? reports::human_years(*result.wear->lifetime_years) : "-");
  } else {
    cells.insert(cells.end(), {"-", "-"});
  }
  cells.push_back(verdict(offer, need));
}

std::string evidence(const PriceList& list, const BoxSearch& found, const BoxNeed& need) {
  reports::Table table;
  table.columns = {{"box", Align::left, 0},
                   {"price", Align::right, 0},
                   {"best of what was simulated", Align::left, 0},
                   {"tokens a day", Align::right, 0},
                   {"drives last", Align::right, 0},
                   {"does it", Align::left, 0}};
  add_row(table, words_of(list, found.answer->box), *found.answer, need);
  for (const BoxOffer& offer : found.systems) add_row(table, "the same box", offer, need);
  for (const BoxOffer& offer : found.neighbours)
    add_row(table, offer.change + ": " + words_of(list, offer.box), offer, need);
  for (const BoxOffer& offer : found.runners_up)
    add_row(table, "runner-up: " + words_of(list, offer.box), offer, need);
  reports::drop_silent_columns(table);
  return to_text(table, reports::screen_of(stdout));
}

/// What became of the boxes that cost less.
std::string cheaper_words(const BoxSearch& found) {
  const std::uint64_t open = found.cheaper - found.ruled_out - found.missed;
  std::string text = fmt::format(
      "Of {} boxes that cost less, bounds rule out {}, and {} miss it with every setting that "
      "bounds "
      "leave",
      reports::human_count(found.cheaper), reports::human_count(found.ruled_out),
      reports::human_count(found.missed));
  if (open > 0)
    text += fmt::format(
        "; {} were looked at in part only before --most simulations were spent: one of them may do "
        "it",
        reports::human_count(open));
  if (found.late_missed > 0)
    text += fmt::format(
        "; {} of them miss it too with {}, in the setting that does best on a box "
        "that does it",
        reports::human_count(found.late_missed), fmt::join(found.late_systems, ", "));
  return text + fmt::format(". {} bounds, {} simulations.", reports::human_count(found.bounded),
                            reports::human_count(found.simulated));
}

/// Prices decide which box is the cheapest: which of them nobody states.
std::string price_words(const PriceList& list, const BoxOffer& answer) {
  const json machine = machine_of(list, answer.box);
  std::vector<std::string> assumed;
  for (const auto& [path, source] : machine["sources"].items())
    if (path.starts_with("prices_usd.") && source.get<std::string>().starts_with("assumed"))
      assumed.push_back(path.substr(11));
  std::string text = fmt::format("Prices are those of the list {} of {}", list.name, list.date);
  if (assumed.empty()) return text + ".";
  return text + fmt::format("; assumed are those of {}.", fmt::join(assumed, ", "));
}

void print_answer(const PriceList& list, const BoxSearch& found, const BoxNeed& need) {
  const BoxOffer& answer = *found.answer;
  const result::Result& result = *answer.trial.result;
  print(evidence(list, found, need) + "\n");
  print_paragraph(fmt::format(
      "{} for {}: {} tokens a day with {}, {:.2f} times what is asked; the busiest resource is {}.",
      words_of(list, answer.box), reports::human_price(answer.price_usd),
      reports::human_number(tokens_per_day(result)), answer.trial.words,
      tokens_per_day(result) / need.tokens_per_day, result.bottleneck));
  print_paragraph(cheaper_words(found));
  for (const BoxOffer& offer : found.systems)
    if (offer.meets && offer.trial.result->tokens_per_s > result.tokens_per_s)
      print_paragraph(
          fmt::format("{} is faster on this box, and was tried on it and cheaper ones only: "
                      "--system {} searches "
                      "all boxes with it.",
                      offer.change, offer.change));
  if (!found.runners_up.empty())
    print_paragraph(
        "Runners-up are the cheapest with other cards or another host, as far as their most "
        "promising settings say.");
  print_paragraph(price_words(list, answer) + " " + certainty(result));
}

void print_none(const PriceList& list, const BoxSearch& found, const BoxNeed& need) {
  if (found.boxes == 0) {
    double least = HUGE_VAL;
    for (const scenarios::Box& box : boxes_of(list)) least = std::min(least, price_of(list, box));
    return print_paragraph(
        fmt::format("The cheapest box of {} costs {}.", list.name, reports::human_price(least)));
  }
  print_paragraph(fmt::format("No box of {} for at most {} was found that trains {} tokens a day.",
                              list.name, reports::human_price(need.budget_usd),
                              reports::human_number(need.tokens_per_day)));
  print_paragraph(cheaper_words(found));
  std::set<std::string> untried;
  for (const explore::BoxSetting& setting : need.settings)
    if (!setting.searched) untried.insert(setting.system);
  if (!untried.empty())
    print_paragraph(
        fmt::format("Not tried: systems that plan for one box, which takes its time; "
                    "--system {} searches with them.",
                    fmt::join(untried, ",")));
}

/// Says on a terminal how far the search is, in a line that goes away.
explore::BoxProgress progress_line() {
  if (!isatty(STDERR_FILENO)) return {};
  return [](double price_usd, std::uint64_t simulated) {
    std::fprintf(stderr, "\r%s simulations, boxes for %s\x1b[K",
                 reports::human_count(simulated).c_str(), reports::human_price(price_usd).c_str());
  };
}

void plan_machine(const Options& options) {
  const PriceList list = scenarios::read_price_list(options.parts);
  const BoxNeed need = need_of(options, list);
  const explore::BoxProgress progress = progress_line();
  const BoxSearch found = find_box(simulator(), list, need, options.most, progress);
  if (progress) std::fputs("\r\x1b[K", stderr);
  if (found.answer && !options.out.empty())
    write_file(options.out, found.answer->trial.result->scenario.dump(2) + "\n");
  if (found.answer && !options.machine_out.empty())
    write_file(options.machine_out, machine_of(list, found.answer->box).dump(2) + "\n");
  if (options.json) return print_json(search_json(list, found));
  if (!found.answer) return print_none(list, found, need);
  print_answer(list, found, need);
}

}  // namespace

void add_plan_machine(CLI::App& plan) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      plan.add_subcommand("machine", "the cheapest box that trains a model fast enough");
  verb->add_option("--model", options->model, "a name of models/library or a file")->required();
  verb->add_option("--tokens-per-day", options->tokens_per_day, "what it has to train at least")
      ->check(CLI::PositiveNumber)
      ->required();
  verb->add_option("--budget", options->budget, "dollars that it may cost at most")
      ->check(CLI::PositiveNumber)
      ->required();
  verb->add_option("--parts", options->parts, "a name of scenarios/parts or a file");
  verb->add_option("--lifetime", options->years, "years that its drives have to last")
      ->check(CLI::PositiveNumber);
  add_way_options(*verb, *options);
  add_batch_options(*verb, *options);
  verb->add_option("--precision", options->precision, "of the training");
  verb->add_option("--sequence", options->sequence, "tokens of a sample")
      ->check(CLI::PositiveNumber);
  verb->add_option("--most", options->most, "simulations at most before the answer stands")
      ->check(CLI::PositiveNumber);
  verb->add_option("--out", options->out, "where the scenario of the answer is written");
  verb->add_option("--machine-out", options->machine_out,
                   "where the machine file of the answer is written");
  add_set(*verb, options->overrides, "override one value of all that is tried");
  verb->add_flag("--json", options->json, "with the whole result of what is shown");
  verb->footer(
      "Example:\n  spillway plan machine --model gpt2-xl --tokens-per-day 20e6 --budget 5000 "
      "--sequence 1024");
  verb->callback([options] { plan_machine(*options); });
}

}  // namespace spillway::cli
