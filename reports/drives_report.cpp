#include "reports/human.hpp"
#include "reports/plan_report.hpp"
#include "reports/result/what_if.hpp"
#include "reports/table.hpp"
#include "reports/trials_table.hpp"
#include "reports/wear_words.hpp"

#include <fmt/format.h>
#include <cmath>

namespace spillway::reports {

using answer::DriveClass;
using answer::Drives;
using answer::Trial;

namespace {

std::string gain(const Trial& from, const Trial& to) {
  if (!to.fits()) return "it does not fit: " + to.reason;
  const double share = to.result->tokens_per_s / from.result->tokens_per_s - 1;
  if (std::abs(share) < 0.0005) return "no change";
  return fmt::format("{:+.1f} % tokens/s", 100 * share);
}

/// What becomes of the drives, with a blank before it.
std::string wear_words(const result::Result& result) {
  std::string text = lifetimes_sentence(result);
  if (text.empty() || !result.wear->usd_per_million_tokens) return text;
  return text + fmt::format(" They lose ${:.3g} in value per million tokens.",
                            *result.wear->usd_per_million_tokens);
}

/// Day of the price of a class's drives where it is more than a year old; "" where it is not.
std::string old_day(const DriveClass& one) {
  if (!one.enough()) return "";
  for (const auto& [name, date] : one.enough()->result->old_prices)
    if (name == "ssd" || name == one.name + ".price_usd") return date;
  return "";
}

/// " (price of 2024-03-11)"; "" where that is not old.
std::string day_words(const DriveClass& one) {
  const std::string day = old_day(one);
  return day.empty() ? "" : " (price of " + day + ")";
}

/// Whether an old price makes the winner, and what wins without such; "" where it is not old.
std::string old_winner_words(const Drives& drives, const DriveClass& best) {
  const std::string day = old_day(best);
  if (day.empty() || drives.classes.size() == 1) return "";
  const DriveClass* recent = nullptr;
  for (const DriveClass& one : drives.classes)
    if (one.enough() && one.price_usd > 0 && old_day(one).empty() &&
        (!recent || one.cost_usd() < recent->cost_usd()))
      recent = &one;
  std::string text = fmt::format(
      "The price of {}, of {}, is more than a year old: the winner may be another today", best.name,
      day);
  if (!recent) return text + ".";
  return text + fmt::format(
                    "; of those with a price of the last year {} x {} for {} are the "
                    "cheapest.",
                    *recent->drives, recent->name, human_price(recent->cost_usd()));
}

std::string answer_words(const DriveClass& best, bool several) {
  const std::size_t index = *best.drives - 1;
  const bool last = index + 1 == best.trials.size();
  std::string text =
      several ? fmt::format("{} x {} for {}{}: the cheapest that are enough, ", index + 1,
                            best.name, human_price(best.cost_usd()), day_words(best))
              : fmt::format("{} drives are enough: ", index + 1);
  if (last && !several)
    text = fmt::format("{} drives are the most that were tried, more may bring more: ", index + 1);
  text += human_number(best.trials[index].result->tokens_per_s) + " tokens/s.";
  if (index > 0)
    text += " With one fewer: " + gain(best.trials[index], best.trials[index - 1]) + ".";
  if (!last) text += " With one more: " + gain(best.trials[index], best.trials[index + 1]) + ".";
  return text + wear_words(*best.trials[index].result);
}

/// What it takes of the other classes.
std::string others_words(const Drives& drives, const DriveClass* best, const Screen& screen) {
  std::string text;
  for (const DriveClass& one : drives.classes) {
    if (&one == best) continue;
    const Trial* enough = one.enough();
    if (enough) {
      text += paragraph(
          fmt::format("Of {} it takes {} for {}{}: {} tokens/s.{}", one.name, *one.drives,
                      human_price(one.cost_usd()), day_words(one),
                      human_number(enough->result->tokens_per_s), wear_words(*enough->result)),
          screen);
      continue;
    }
    const Trial* most = fastest(one.trials);
    text +=
        paragraph(most ? fmt::format("No number of {} is enough: {} tokens/s with {}.", one.name,
                                     human_number(most->result->tokens_per_s), most->words)
                       : "No number of " + one.name + " is enough.",
                  screen);
  }
  return text;
}

/// Of all that fits the one that lasts longest; nullptr: nothing fits or nothing wears.
const Trial* longest_lasting(const Drives& drives) {
  const Trial* best = nullptr;
  for (const DriveClass& one : drives.classes)
    for (const Trial& trial : one.trials) {
      if (!trial.fits() || !trial.result->wear || !trial.result->wear->lifetime_years) continue;
      if (!best || *trial.result->wear->lifetime_years > *best->result->wear->lifetime_years)
        best = &trial;
    }
  return best;
}

/// How near the drives come that were tried, and what would do.
std::string none_words(const Drives& drives) {
  const Trial* best = longest_lasting(drives);
  if (!best) {
    const Trial& first = drives.classes.front().trials.front();
    return "No number of drives does it: " + first.words + ": " + first.reason + ". " +
           counts_words(drives.counts);
  }
  const double years = *best->result->wear->lifetime_years;
  std::string text = fmt::format(
      "No number of drives does it. {} last longest: {} of the {} that are asked for, at {} "
      "tokens/s.",
      best->words, human_years(years), human_years(drives.years),
      human_number(best->result->tokens_per_s));
  if (years < drives.years)
    text += fmt::format(
        " They would last as long if they trained {} of the time, or if each were rated for {} "
        "times the bytes.",
        human_share(years / drives.years), human_number(drives.years / years));
  return text + " " + counts_words(drives.counts);
}

/// ", up to 1.0 years" where more drives only last longer.
std::string longer_words(const Trial& first, const Trial& last) {
  if (!first.fits() || !first.result->wear || !first.result->wear->lifetime_years) return "";
  const std::string from = human_years(*first.result->wear->lifetime_years);
  const std::string to = human_years(*last.result->wear->lifetime_years);
  return from == to ? "" : ", up to " + to;
}

/// Numbers of drives that read the same but for how long they last are one row.
std::vector<Trial> folded(const Drives& drives) {
  std::vector<Trial> shown;
  const auto same = [](const Trial& one, const Trial& other) {
    if (one.fits() != other.fits()) return false;
    if (one.refused && other.refused) return true;  // by the first number that the board refuses
    return one.fits() ? reads_the_same(*one.result, *other.result) : one.reason == other.reason;
  };
  for (const DriveClass& one : drives.classes)
    for (std::size_t i = 0, end = 0; i < one.trials.size(); i = end) {
      for (end = i + 1; end < one.trials.size() && same(one.trials[i], one.trials[end]);) ++end;
      shown.push_back(one.trials[i]);
      if (end > i + 1)
        shown.back().words = fmt::format("{} to {}{}", i + 1, one.trials[end - 1].words,
                                         longer_words(one.trials[i], one.trials[end - 1]));
    }
  return shown;
}

}  // namespace

std::string drives_report(const Drives& drives, const Screen& screen) {
  std::string text = trials_table(folded(drives), screen) + "\n";
  const auto say = [&](const std::string& words) { text += paragraph(words, screen); };
  const DriveClass* best = drives.cheapest();
  if (!best || !drives.result) {
    say(none_words(drives));
    return text;
  }
  say(answer_words(*best, drives.classes.size() > 1));
  if (const std::string old = old_winner_words(drives, *best); !old.empty()) say(old);
  const result::Result& enough = *best->enough()->result;
  if (const std::string limit = result::limited_by(*drives.result); !limit.empty())
    say("With them a step is limited by " + limit + ".");
  for (std::size_t i = enough.notes.size(); i < drives.result->notes.size(); ++i)
    say("Note: " + drives.result->notes[i] + ".");
  text += others_words(drives, best, screen);
  say(counts_words(drives.counts) + " " + certainty_words(enough, drives.certainty));
  if (!drives.old_prices.empty()) say(drives.old_prices);
  return text;
}

}  // namespace spillway::reports
