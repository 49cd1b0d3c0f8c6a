#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "cli/prices.hpp"
#include "explore/break_even.hpp"
#include "explore/planning.hpp"
#include "reports/human.hpp"
#include "reports/range.hpp"
#include "reports/result/what_if.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"
#include "reports/wear_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
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
  PriceOptions prices;
  std::string model, parts = "one_box", precision = "bf16_mixed", out, machine_out;
  std::vector<std::string> overrides;
  std::uint64_t sequence = 4096, most = 5000;
  double tokens_per_day = 0, budget = 0, years = 0, limit_s = plan_limit_s;
  RunOptions run;
  bool json = false;
};

BoxNeed need_of(const Options& options, const PriceList& list) {
  BoxNeed need;
  need.job = {{"model", options.model},
              {"training", {{"precision", options.precision}, {"sequence", options.sequence}}},
              {"strategy", {{"system", "zero_infinity"}}},
              {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  if (const auto tokens = tokens_of(options.run)) need.job["run"]["tokens"] = *tokens;
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
  for (std::string& price : scenarios::hourly_overrides(
           scenarios::read_offers(options.prices.prices, options.prices.offers)))
    need.overrides.push_back(std::move(price));
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
    cells.push_back(reports::human_number(tokens_per_day(result)));
    cells.push_back(reports::drives_last(result));
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
                   {"warranty of drives", Align::right, 0},
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

/// Tokens a day, with their range where there is one.
std::string day_words(const result::Result& result) {
  return reports::with_range(
      reports::human_number(tokens_per_day(result)), result, "throughput.tokens_per_s",
      [](double tokens_per_s) { return reports::human_number(tokens_per_s * 86400); });
}

/// What became of the boxes that cost less.
std::string cheaper_words(const BoxSearch& found) {
  const std::uint64_t open = found.cheaper - found.ruled_out - found.missed;
  std::string text = fmt::format(
      "Of {} boxes {}, bounds rule out {}, and {} miss it with every setting that bounds leave",
      reports::human_count(found.cheaper), found.answer ? "that cost less" : "within the budget",
      reports::human_count(found.ruled_out), reports::human_count(found.missed));
  if (open > 0)
    text += fmt::format(
        "; {} were not looked at, or in part only, before --most simulations or the time were "
        "spent: one of them may do it",
        reports::human_count(open));
  if (found.late_missed > 0)
    text += fmt::format(
        "; {} of them miss it too with {}, in the setting that does best on a box "
        "that does it",
        reports::human_count(found.late_missed), fmt::join(found.late_systems, ", "));
  return text + fmt::format(". {} bounds, {} simulations.", reports::human_count(found.bounded),
                            reports::human_count(found.simulated));
}

/// Prices decide which box is the cheapest: of what day they are, and which of them nobody states.
std::string price_words(const PriceList& list, const BoxOffer& answer) {
  const auto machine = machine_of(list, answer.box).get<description::MachineFile>();
  std::vector<std::string> days, assumed;
  for (const auto& [path, date] : machine.dates)
    if (!date.empty()) days.push_back(path.substr(path.find('.') + 1) + " of " + date);
  for (const auto& [path, source] : machine.sources)
    if (path.starts_with("prices_usd.") && source.starts_with("assumed"))
      assumed.push_back(path.substr(11));
  std::string text =
      fmt::format("Prices are those of the list {}: {}", list.name, fmt::join(days, ", "));
  if (!assumed.empty()) text += fmt::format("; assumed are those of {}", fmt::join(assumed, ", "));
  const std::string old = old_prices_words(machine);
  return text + "." + (old.empty() ? "" : " " + old);
}

/// What all parts of its kind cost per piece at the prices' break-even, by an example.
std::string price_at(const PriceList& list, const BoxOffer& answer, const explore::BreakEven& at) {
  if (!at.drives) {
    const double usd = list.hosts[answer.box.host].dram_usd_per_gib;
    const double shown = usd > 0 ? usd : list.hosts[at.box.host].dram_usd_per_gib;
    return fmt::format("${:.3g} a GiB of DRAM (now ${:.3g})", shown * at.factor, shown);
  }
  const scenarios::Box& box = answer.box.drives > 0 ? answer.box : at.box;
  const scenarios::DrivePart& drive = list.drives[box.drive];
  return fmt::format("{} for a {} (now {}), all drives alike",
                     reports::human_price(drive.price_usd * at.factor), drive.name,
                     reports::human_price(drive.price_usd));
}

/// Where the winner changes.
std::string break_even_words(const PriceList& list, const BoxSearch& found) {
  std::string text;
  for (const explore::BreakEven& at : break_evens(list, found))
    text += fmt::format("{} {} the cheapest is {}. ", at.factor > 1 ? "Above" : "Below",
                        price_at(list, *found.answer, at), words_of(list, at.box));
  const std::string among =
      fmt::format("among the {} other boxes that were simulated and do it", found.meeting.size());
  if (text.empty())
    return fmt::format("No price of DRAM or of drives changes the winner {}.", among);
  return fmt::format("Prices at which the winner changes, {}: {}", among, text);
}

json break_evens_json(const PriceList& list, const BoxSearch& found) {
  json all = json::array();
  for (const explore::BreakEven& at : break_evens(list, found))
    all.push_back({{"part", at.drives ? "ssd" : "dram"},
                   {"factor", at.factor},
                   {"words", words_of(list, at.box)}});
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
          {"runners_up", list_json(list, found.runners_up)},
          {"nearest", found.nearest ? box_json(list, *found.nearest) : json()},
          {"dearer", found.dearer ? box_json(list, *found.dearer) : json()},
          {"break_even", break_evens_json(list, found)}};
}

void print_answer(const Options& options, const PriceList& list, const BoxSearch& found,
                  const BoxNeed& need) {
  const BoxOffer& answer = *found.answer;
  result::Result result = explore::with_what_ifs(simulator(), *answer.trial.result);
  const std::string limit = result::limited_by(result);
  print(evidence(list, found, need) + "\n");
  print_paragraph(fmt::format("{} for {}: {} tokens a day with {}, {:.2f} times what is asked{}.",
                              words_of(list, answer.box), reports::human_price(answer.price_usd),
                              day_words(result), answer.trial.words,
                              tokens_per_day(result) / need.tokens_per_day,
                              limit.empty() ? "" : "; limited by " + limit));
  result.scenario["machine"]["dates"] = json::object();  // price_words says them
  print_around(options.run, result);
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
  print_paragraph(break_even_words(list, found));
  print_paragraph(price_words(list, answer) + " " + certainty(result));
}

/// How near the budget comes, and what it would take.
void print_near_ones(const PriceList& list, const BoxSearch& found, const BoxNeed& need) {
  if (found.nearest) {
    const double rate = tokens_per_day(*found.nearest->trial.result);
    print_paragraph(
        fmt::format("Nearest: {} for {}: {} tokens a day, {} of what is asked, with {}.",
                    words_of(list, found.nearest->box),
                    reports::human_price(found.nearest->price_usd), reports::human_number(rate),
                    reports::human_share(rate / need.tokens_per_day), found.nearest->trial.words));
  } else {
    print_paragraph("Nothing that was simulated within the budget fits.");
  }
  print_paragraph(
      found.dearer
          ? fmt::format(
                "What would do: {} more, for {} with {}: {} tokens a day. It is the cheapest "
                "above the budget as far as its most promising settings say.",
                reports::human_price(found.dearer->price_usd - need.budget_usd),
                words_of(list, found.dearer->box), found.dearer->trial.words,
                reports::human_number(tokens_per_day(*found.dearer->trial.result)))
          : "No box of the list above the budget was found to do it either.");
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
  print_near_ones(list, found, need);
  std::set<std::string> untried;
  for (const explore::BoxSetting& setting : need.settings)
    if (!setting.searched) untried.insert(setting.system);
  if (!untried.empty())
    print_paragraph(
        fmt::format("Not tried: systems that plan for one box, which takes its time; "
                    "--system {} searches with them.",
                    fmt::join(untried, ",")));
}

void plan_machine(const Options& options) {
  PriceList list = scenarios::read_price_list(options.parts);
  const auto offers = scenarios::read_offers(options.prices.prices, options.prices.offers);
  const std::size_t hourly = scenarios::hourly_overrides(offers).size();
  if (scenarios::apply_offers(offers, list) + hourly == 0 && !offers.empty())
    refuse("--price", "the list " + list.name + " has none of these parts", "name one that it has");
  const BoxNeed need = need_of(options, list);
  Monitor monitor("boxes", options.limit_s);
  const explore::BoxProgress progress = [&monitor](double price_usd, std::uint64_t) {
    monitor.say("boxes for " + reports::human_price(price_usd));
  };
  BoxSearch found = find_box(monitor.backend(), list, need, options.most, progress);
  std::vector<explore::Trial*> shown;
  for (auto* group : {&found.systems, &found.neighbours, &found.runners_up})
    for (BoxOffer& offer : *group) shown.push_back(&offer.trial);
  find_needs(monitor.backend(), need.job, shown);
  if (found.answer) add_range(options.run, *found.answer->trial.result);
  monitor.clear();
  if (found.answer && !options.out.empty())
    write_file(options.out, found.answer->trial.result->scenario.dump(2) + "\n");
  if (found.answer && !options.machine_out.empty())
    write_file(options.machine_out, machine_of(list, found.answer->box).dump(2) + "\n");
  if (options.json)
    print_json(search_json(list, found));
  else if (found.answer)
    print_answer(options, list, found, need);
  else
    print_none(list, found, need);
  finish(monitor, {}, options.json);
}

}  // namespace

void add_plan_machine(CLI::App& plan) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      plan.add_subcommand("machine", "the cheapest box that trains a model fast enough");
  verb->add_option("--model", options->model, "a name of models/library or a file")->required();
  verb->add_option("--tokens-per-day", options->tokens_per_day,
                   "what it has to train at least, such as 60M")
      ->transform(count_with_suffix())
      ->check(CLI::PositiveNumber)
      ->required();
  verb->add_option("--budget", options->budget, "dollars that it may cost at most")
      ->check(CLI::PositiveNumber)
      ->required();
  verb->add_option("--parts", options->parts, "a name of scenarios/parts or a file");
  add_prices(*verb, options->prices);
  verb->add_option("--lifetime", options->years, "years that its drives have to last")
      ->check(CLI::PositiveNumber);
  add_way_options(*verb, *options);
  add_batch_options(*verb, *options);
  add_run_options(*verb, options->run);
  verb->add_option("--precision", options->precision, "of the training");
  verb->add_option("--sequence", options->sequence, "tokens of a sample")
      ->check(CLI::PositiveNumber);
  verb->add_option("--most", options->most, "simulations at most before the answer stands")
      ->check(CLI::PositiveNumber);
  verb->add_option("--out", options->out, "where the scenario of the answer is written");
  verb->add_option("--machine-out", options->machine_out,
                   "where the machine file of the answer is written");
  add_set(*verb, options->overrides, "override one value of all that is tried");
  add_limit(*verb, options->limit_s, plan_limit_help);
  verb->add_flag("--json", options->json, "with the whole result of what is shown");
  verb->footer(
      "Example:\n  spillway plan machine --model gpt2-xl --tokens-per-day 20e6 --budget 5000 "
      "--sequence 1024");
  verb->callback([options] { plan_machine(*options); });
}

}  // namespace spillway::cli
