#include "reports/plan/plan_report.hpp"
#include "reports/result/what_if.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/dated_price.hpp"
#include "reports/words/range.hpp"
#include "reports/words/table.hpp"
#include "reports/words/trials_table.hpp"
#include "reports/words/wear_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cmath>

namespace spillway::reports {

using answer::BestMachine;
using answer::BoxOffer;
using view::Document;
using view::filled;
using view::Text;

namespace {

constexpr double day_s = 86400;

double tokens_per_day(const result::Result& result) { return result.tokens_per_s * day_s; }

/// Why an offer is not the answer.
Text verdict(const BoxOffer& offer, const BestMachine& asked) {
  if (!offer.trial.fits()) return offer.trial.reason;
  const double share = tokens_per_day(*offer.trial.result) / asked.tokens_per_day - 1;
  constexpr double least_said = 0.0005;
  if (share < 0 && -share < least_said) return "just too slow";
  if (share < 0) return filled("{} too slow", {view::share(-share)});
  if (!offer.meets) return "drives wear out too soon";
  if (offer.price_usd > asked.budget_usd) return "above the budget";
  return "yes";
}

void add_row(Table& table, const std::string& what, const BoxOffer& offer,
             const BestMachine& asked) {
  auto& cells = table.rows.emplace_back(std::vector<Cell>{what});
  Text price = view::dollars(offer.price_usd);
  if (offer.trial.result) price += old_prices_beside(*offer.trial.result);
  cells.push_back(price);
  cells.push_back(offer.trial.words);
  if (offer.trial.fits()) {
    const result::Result& result = *offer.trial.result;
    cells.push_back(view::number(tokens_per_day(result)));
    cells.push_back(drives_last(result));
  } else {
    cells.insert(cells.end(), {"-", "-"});
  }
  cells.push_back(verdict(offer, asked));
}

Table evidence(const BestMachine& found) {
  Table table;
  table.columns = {{"box", Align::left},
                   {"price"},
                   {"best of what was simulated", Align::left},
                   {"tokens a day"},
                   {"warranty of drives"},
                   {"does it", Align::left}};
  add_row(table, found.answer->words, *found.answer, found);
  for (const BoxOffer& offer : found.systems)
    add_row(table, "the same box, " + offer.change, offer, found);
  for (const BoxOffer& offer : found.neighbours)
    add_row(table, offer.change + ": " + offer.words, offer, found);
  for (const BoxOffer& offer : found.runners_up)
    add_row(table, "runner-up: " + offer.words, offer, found);
  drop_silent_columns(table);
  return table;
}

/// Tokens a day, with their range where there is one.
Text day_words(const result::Result& result) {
  return with_range(view::number(tokens_per_day(result)), result, "throughput.tokens_per_s", day_s);
}

/// Nobody said that a step has one micro-batch; "" where no other box does it with more.
Text more_samples_words(const BestMachine& found) {
  if (!found.more_samples || !found.more_samples->trial.result) return {};
  const BoxOffer& offer = *found.more_samples;
  return filled(
      "Where a step may have more samples, {} does it: {} for {}{}, {} tokens a day with {}, {} "
      "tokens a step; {} answers for that.",
      {found.answer ? "a cheaper box" : "a box", offer.words, view::dollars(offer.price_usd),
       old_prices_beside(*offer.trial.result), view::number(tokens_per_day(*offer.trial.result)),
       offer.trial.words,
       view::number(offer.trial.result->tokens_per_s * offer.trial.result->step_time_s),
       unbroken(fmt::format("--runnable --accumulation {}", found.accumulation))});
}

/// What became of the boxes that cost less.
Text cheaper_words(const BestMachine& found) {
  const std::uint64_t open = found.cheaper - found.ruled_out - found.missed;
  Text text = filled(
      "Of {} boxes {}, bounds rule out {} for all systems searched with, and {} miss it with every "
      "setting that bounds leave",
      {view::count(found.cheaper), found.answer ? "that cost less" : "within the budget",
       view::count(found.ruled_out), view::count(found.missed)});
  if (open > 0)
    text += filled(
        "; {} were not looked at, or in part only, before --most simulations or the time were "
        "spent: one of them may do it",
        {view::count(open)});
  if (found.late_missed > 0)
    text += filled(
        "; {} of them miss it too with {}, in the setting that does best on a box that does it",
        {view::count(found.late_missed), fmt::format("{}", fmt::join(found.late_systems, ", "))});
  return text +
         filled(". {} bounds, {} simulations.",
                {view::count(found.bounded), view::count(found.simulated)}) +
         (found.answer ? unanswered_words(found.unanswered) : Text());
}

/// Prices decide which box is the cheapest: of what day they are, and which of them nobody states.
std::string price_words(const BestMachine& found) {
  std::string text = fmt::format("Prices are those of the list {}: {}", found.list,
                                 fmt::join(found.price_days, ", "));
  if (!found.assumed_prices.empty())
    text += fmt::format("; assumed are those of {}", fmt::join(found.assumed_prices, ", "));
  return text + "." + (found.old_prices.empty() ? "" : " " + found.old_prices);
}

/// Whether old prices make the winner, and what wins among the boxes shown that have none; "" where
/// none of the winner's is old.
Text old_winner_words(const BestMachine& found) {
  const auto is_old = [](const BoxOffer& offer) {
    return !offer.trial.result || !offer.trial.result->old_prices.empty();
  };
  if (!is_old(*found.answer)) return {};
  const BoxOffer* recent = nullptr;
  for (const auto* group : {&found.neighbours, &found.systems, &found.runners_up})
    for (const BoxOffer& offer : *group)
      if (offer.meets && !is_old(offer) && (!recent || offer.price_usd < recent->price_usd))
        recent = &offer;
  const Text text = "The price in brackets is more than a year old, and the winner rests on it; ";
  if (!recent) return text + "so does every other box shown that does it.";
  return text + filled("the cheapest box shown that does it at prices of the last year: {} for {}.",
                       {recent->words, view::dollars(recent->price_usd)});
}

/// What all parts of its kind cost per piece at the prices' break-even, by an example.
Text price_at(const answer::PriceBreak& at) {
  using view::Quantity;
  constexpr double hundredth = 0.01;  // both prices may read the same
  const char* near = std::abs(at.factor - 1) < hundredth ? ", less than 1 % away" : "";
  if (at.drive.empty())
    return filled("{} a GiB of DRAM (now {}{})", {view::number(at.usd * at.factor, Quantity::cents),
                                                  view::number(at.usd, Quantity::cents), near});
  return filled("{} for a {} (now {}{}), all drives alike",
                {view::dollars(at.usd * at.factor), at.drive, view::dollars(at.usd), near});
}

/// Where the winner changes.
Text break_even_words(const BestMachine& found) {
  Text text;
  for (const answer::PriceBreak& at : found.break_even)
    text += filled("{} {} the cheapest is {}. ",
                   {at.factor > 1 ? "Above" : "Below", price_at(at), at.words});
  const Text among = filled("among the {} other boxes that were simulated and do it",
                            {view::plain(static_cast<double>(found.meeting))});
  if (text.empty())
    return filled(
        "No price of DRAM or of drives changes the winner {}{}.",
        {among, found.answer->trial.result && !found.answer->trial.result->old_prices.empty()
                    ? "; what cards and hosts cost today may"
                    : ""});
  return filled("Prices at which the winner changes, {}: {}", {among, text});
}

/// Drives of the cheapest box may last weeks.
std::string lifetime_hint(const result::Result& result) {
  const auto& wear = result.wear;
  if (!wear || !wear->warranty_years || *wear->warranty_ends_years() >= 1) return "";
  return " --lifetime YEARS asks for a box whose drives last.";
}

/// " It runs with DeepSpeed."; of what nobody can start today, how to ask for what people can.
std::string program_sentence(const result::Result& result) {
  if (!result.runs_with) return "";
  const std::string runs = " It runs with " + result.runs_with->program;
  return runs + (result.runs_with->runnable
                     ? "."
                     : ", no maintained program: --runnable asks for boxes that do it with one.");
}

Document answer_document(const BestMachine& found) {
  const BoxOffer& answer = *found.answer;
  const result::Result& result = *found.result;
  const std::string limit = result::limited_by(result);
  Document document;
  document.add(evidence(found))
      .say(filled(
               "{} for {}{}: {} tokens a day with {}, {} times what is asked{}.",
               {answer.words, view::dollars(answer.price_usd), old_prices_beside(result),
                day_words(result), answer.trial.words,
                view::number(tokens_per_day(result) / found.tokens_per_day, view::Quantity::ratio),
                limit.empty() ? "" : "; limited by " + limit}) +
           program_sentence(result) + lifetimes_sentence(result) + lifetime_hint(result))
      .say(more_samples_words(found))
      .say(old_winner_words(found));
  add_notes(document, result);
  add_around(document, result, "");
  document.say(cheaper_words(found));
  for (const BoxOffer& offer : found.systems)
    if (offer.meets && offer.trial.result->tokens_per_s > result.tokens_per_s)
      document.say(
          fmt::format("{} is faster on this box, and was tried on it and cheaper ones only: "
                      "--system {} searches "
                      "all boxes with it.",
                      offer.change, offer.change));
  if (!found.runners_up.empty())
    document.say(
        "Runners-up are the cheapest with other cards or another host, as far as their most "
        "promising settings say.");
  return document.say(break_even_words(found))
      .say(price_words(found) + " " + certainty_words(result, found.certainty));
}

/// Adds how near the budget comes, and what it would take.
void add_nearest(Document& document, const BestMachine& found) {
  if (found.nearest) {
    const double rate = tokens_per_day(*found.nearest->trial.result);
    document.say(
        filled("Nearest: {} for {}: {} tokens a day, {} of what is asked, with {}.",
               {found.nearest->words, view::dollars(found.nearest->price_usd), view::number(rate),
                view::share(rate / found.tokens_per_day), found.nearest->trial.words}) +
        program_sentence(*found.nearest->trial.result));
  } else {
    document.say("Nothing that was simulated within the budget fits.");
  }
  if (!found.dearer) {
    document.say("No box of the list above the budget was found to do it either.");
    return;
  }
  document.say(
      filled(
          "What would do: {} more, for {} with {}: {} tokens a day, the cheapest above the budget "
          "as far as its most promising settings say.",
          {view::dollars(found.dearer->price_usd - found.budget_usd), found.dearer->words,
           found.dearer->trial.words, view::number(tokens_per_day(*found.dearer->trial.result))}) +
      program_sentence(*found.dearer->trial.result));
}

Document none_document(const BestMachine& found) {
  Document document;
  if (found.boxes == 0)
    return document.say(
        filled("The cheapest box of {} costs {}.", {found.list, view::dollars(found.least_usd)}));
  if (found.simulated == 0 && found.unanswered == 0 && !found.whole)
    return document.say(
        "Ended before anything was simulated: not known whether a box within the budget does it.");
  if (found.unanswered > 0)
    document.say(filled("Not known: {} simulations could not be done. Try again.",
                        {view::count(found.unanswered)}));
  if (found.unanswered > 0 && !found.nearest) return document;
  document
      .say(
          filled(found.unanswered > 0
                     ? "Of what was simulated, no box of {} for at most {} trains {} tokens a day."
                     : "No box of {} for at most {} was found that trains {} tokens a day.",
                 {found.list, view::dollars(found.budget_usd), view::number(found.tokens_per_day)}))
      .say(more_samples_words(found))
      .say(cheaper_words(found));
  add_nearest(document, found);
  document.say(
      fmt::format("The cards of {} are {}; --parts takes a file with others of "
                  "scenarios/parts/catalogue.",
                  found.list, fmt::join(found.cards, ", ")));
  if (!found.certainty.trainer.empty()) document.say(found.certainty.trainer + ".");
  if (!found.untried.empty())
    document.say(
        filled("Systems that plan for one box, which takes its time, were tried on {} of the boxes "
               "alone, the dearest, each with two micro-batches: --system {} searches with them.",
               {view::count(found.late_looks), fmt::format("{}", fmt::join(found.untried, ","))}));
  return document;
}

}  // namespace

Document machine_document(const BestMachine& machine) {
  Document document =
      machine.answer && machine.result ? answer_document(machine) : none_document(machine);
  document.title = "Cheapest box of " + machine.list;
  return document;
}

std::string machine_report(const BestMachine& machine, const Screen& screen) {
  return to_text(machine_document(machine), screen);
}

}  // namespace spillway::reports
