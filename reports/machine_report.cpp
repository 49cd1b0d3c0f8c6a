#include "reports/dated_price.hpp"
#include "reports/human.hpp"
#include "reports/plan_report.hpp"
#include "reports/range.hpp"
#include "reports/result/what_if.hpp"
#include "reports/table.hpp"
#include "reports/trials_table.hpp"
#include "reports/wear_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spillway::reports {

using answer::BestMachine;
using answer::BoxOffer;

namespace {

double tokens_per_day(const result::Result& result) { return result.tokens_per_s * 86400; }

/// Why an offer is not the answer.
std::string verdict(const BoxOffer& offer, const BestMachine& asked) {
  if (!offer.trial.fits()) return offer.trial.reason;
  const double share = tokens_per_day(*offer.trial.result) / asked.tokens_per_day - 1;
  if (share < 0) return fmt::format("{:.1f} % too slow", -100 * share);
  if (!offer.meets) return "drives wear out too soon";
  if (offer.price_usd > asked.budget_usd) return "above the budget";
  return "yes";
}

void add_row(Table& table, const std::string& what, const BoxOffer& offer,
             const BestMachine& asked) {
  auto& cells = table.rows.emplace_back(std::vector<Cell>{what});
  cells.push_back(human_price(offer.price_usd) +
                  (offer.trial.result ? old_prices_beside(*offer.trial.result) : ""));
  cells.push_back(offer.trial.words);
  if (offer.trial.fits()) {
    const result::Result& result = *offer.trial.result;
    cells.push_back(human_number(tokens_per_day(result)));
    cells.push_back(drives_last(result));
  } else {
    cells.insert(cells.end(), {"-", "-"});
  }
  cells.push_back(verdict(offer, asked));
}

std::string evidence(const BestMachine& found, const Screen& screen) {
  Table table;
  table.columns = {{"box", Align::left},
                   {"price"},
                   {"best of what was simulated", Align::left},
                   {"tokens a day"},
                   {"warranty of drives"},
                   {"does it", Align::left}};
  add_row(table, found.answer->words, *found.answer, found);
  for (const BoxOffer& offer : found.systems) add_row(table, "the same box", offer, found);
  for (const BoxOffer& offer : found.neighbours)
    add_row(table, offer.change + ": " + offer.words, offer, found);
  for (const BoxOffer& offer : found.runners_up)
    add_row(table, "runner-up: " + offer.words, offer, found);
  drop_silent_columns(table);
  return to_text(table, screen);
}

/// Tokens a day, with their range where there is one.
std::string day_words(const result::Result& result) {
  return with_range(human_number(tokens_per_day(result)), result, "throughput.tokens_per_s",
                    [](double tokens_per_s) { return human_number(tokens_per_s * 86400); });
}

/// What became of the boxes that cost less.
std::string cheaper_words(const BestMachine& found) {
  const std::uint64_t open = found.cheaper - found.ruled_out - found.missed;
  std::string text = fmt::format(
      "Of {} boxes {}, bounds rule out {}, and {} miss it with every setting that bounds leave",
      human_count(found.cheaper), found.answer ? "that cost less" : "within the budget",
      human_count(found.ruled_out), human_count(found.missed));
  if (open > 0)
    text += fmt::format(
        "; {} were not looked at, or in part only, before --most simulations or the time were "
        "spent: one of them may do it",
        human_count(open));
  if (found.late_missed > 0)
    text += fmt::format(
        "; {} of them miss it too with {}, in the setting that does best on a box "
        "that does it",
        human_count(found.late_missed), fmt::join(found.late_systems, ", "));
  return text + fmt::format(". {} bounds, {} simulations.", human_count(found.bounded),
                            human_count(found.simulated));
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
std::string old_winner_words(const BestMachine& found) {
  const auto is_old = [](const BoxOffer& offer) {
    return !offer.trial.result || !offer.trial.result->old_prices.empty();
  };
  if (!is_old(*found.answer)) return "";
  const BoxOffer* recent = nullptr;
  for (const auto* group : {&found.neighbours, &found.systems, &found.runners_up})
    for (const BoxOffer& offer : *group)
      if (offer.meets && !is_old(offer) && (!recent || offer.price_usd < recent->price_usd))
        recent = &offer;
  std::string text = "The price in brackets is more than a year old, and the winner rests on it; ";
  if (!recent) return text + "so does every other box shown that does it.";
  return text + fmt::format(
                    "the cheapest box shown that does it at prices of the last year: {} "
                    "for {}.",
                    recent->words, human_price(recent->price_usd));
}

/// What all parts of its kind cost per piece at the prices' break-even, by an example.
std::string price_at(const answer::PriceBreak& at) {
  if (at.drive.empty())
    return fmt::format("${:.3g} a GiB of DRAM (now ${:.3g})", at.usd * at.factor, at.usd);
  return fmt::format("{} for a {} (now {}), all drives alike", human_price(at.usd * at.factor),
                     at.drive, human_price(at.usd));
}

/// Where the winner changes.
std::string break_even_words(const BestMachine& found) {
  std::string text;
  for (const answer::PriceBreak& at : found.break_even)
    text += fmt::format("{} {} the cheapest is {}. ", at.factor > 1 ? "Above" : "Below",
                        price_at(at), at.words);
  const std::string among =
      fmt::format("among the {} other boxes that were simulated and do it", found.meeting);
  if (text.empty())
    return fmt::format("No price of DRAM or of drives changes the winner {}{}.", among,
                       found.answer->trial.result && !found.answer->trial.result->old_prices.empty()
                           ? "; what cards and hosts cost today may"
                           : "");
  return fmt::format("Prices at which the winner changes, {}: {}", among, text);
}

std::string answer_report(const BestMachine& found, const Screen& screen) {
  const BoxOffer& answer = *found.answer;
  const result::Result& result = *found.result;
  const std::string limit = result::limited_by(result);
  std::string text = evidence(found, screen) + "\n";
  const auto say = [&](const std::string& words) { text += paragraph(words, screen); };
  say(fmt::format("{} for {}: {} tokens a day with {}, {:.2f} times what is asked{}.", answer.words,
                  human_price(answer.price_usd) + old_prices_beside(result), day_words(result),
                  answer.trial.words, tokens_per_day(result) / found.tokens_per_day,
                  limit.empty() ? "" : "; limited by " + limit));
  if (const std::string old = old_winner_words(found); !old.empty()) say(old);
  text += around(result, "", screen);
  say(cheaper_words(found));
  for (const BoxOffer& offer : found.systems)
    if (offer.meets && offer.trial.result->tokens_per_s > result.tokens_per_s)
      say(
          fmt::format("{} is faster on this box, and was tried on it and cheaper ones only: "
                      "--system {} searches "
                      "all boxes with it.",
                      offer.change, offer.change));
  if (!found.runners_up.empty())
    say("Runners-up are the cheapest with other cards or another host, as far as their most "
        "promising settings say.");
  say(break_even_words(found));
  say(price_words(found) + " " + certainty_words(result, found.certainty));
  return text;
}

/// How near the budget comes, and what it would take.
std::string near_words(const BestMachine& found, const Screen& screen) {
  std::string text;
  if (found.nearest) {
    const double rate = tokens_per_day(*found.nearest->trial.result);
    text = paragraph(
        fmt::format("Nearest: {} for {}: {} tokens a day, {} of what is asked, with {}.",
                    found.nearest->words, human_price(found.nearest->price_usd), human_number(rate),
                    human_share(rate / found.tokens_per_day), found.nearest->trial.words),
        screen);
  } else {
    text = paragraph("Nothing that was simulated within the budget fits.", screen);
  }
  return text +
         paragraph(found.dearer
                       ? fmt::format(
                             "What would do: {} more, for {} with {}: {} tokens a day. It is the "
                             "cheapest above the budget as far as its most promising settings say.",
                             human_price(found.dearer->price_usd - found.budget_usd),
                             found.dearer->words, found.dearer->trial.words,
                             human_number(tokens_per_day(*found.dearer->trial.result)))
                       : "No box of the list above the budget was found to do it either.",
                   screen);
}

std::string none_report(const BestMachine& found, const Screen& screen) {
  if (found.boxes == 0)
    return paragraph(
        fmt::format("The cheapest box of {} costs {}.", found.list, human_price(found.least_usd)),
        screen);
  std::string text = paragraph(
      fmt::format("No box of {} for at most {} was found that trains {} tokens a day.", found.list,
                  human_price(found.budget_usd), human_number(found.tokens_per_day)),
      screen);
  text += paragraph(cheaper_words(found), screen) + near_words(found, screen);
  if (!found.untried.empty())
    text += paragraph(fmt::format("Not tried: systems that plan for one box, which takes its time; "
                                  "--system {} searches with them.",
                                  fmt::join(found.untried, ",")),
                      screen);
  return text;
}

}  // namespace

std::string machine_report(const BestMachine& machine, const Screen& screen) {
  return machine.answer && machine.result ? answer_report(machine, screen)
                                          : none_report(machine, screen);
}

}  // namespace spillway::reports
