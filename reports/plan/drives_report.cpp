#include "reports/plan/plan_report.hpp"
#include "reports/result/what_if.hpp"
#include "reports/words/trials_table.hpp"
#include "reports/words/wear_words.hpp"

#include <fmt/format.h>
#include <cmath>

namespace spillway::reports {

using answer::DriveClass;
using answer::Drives;
using answer::Trial;
using view::filled;
using view::Text;

namespace {

view::Number whole(std::size_t number) { return view::plain(static_cast<double>(number)); }

Text gain(const Trial& from, const Trial& to) {
  if (!to.fits()) return "it does not fit: " + to.reason;
  const double share = to.result->tokens_per_s / from.result->tokens_per_s - 1;
  if (std::abs(share) < 0.0005) return "no change";
  return filled("{} tokens/s", {view::change(share)});
}

/// What becomes of the drives, with a blank before it.
Text wear_words(const result::Result& result) {
  const Text text = lifetimes_sentence(result);
  if (text.empty() || !result.wear->usd_per_million_tokens) return text;
  return text + filled(" They lose {} in value per million tokens.",
                       {view::number(*result.wear->usd_per_million_tokens, view::Quantity::cents)});
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
Text old_winner_words(const Drives& drives, const DriveClass& best) {
  const std::string day = old_day(best);
  if (day.empty() || drives.classes.size() == 1) return {};
  const DriveClass* recent = nullptr;
  for (const DriveClass& one : drives.classes)
    if (one.enough() && one.price_usd > 0 && old_day(one).empty() &&
        (!recent || one.cost_usd() < recent->cost_usd()))
      recent = &one;
  const Text text =
      filled("The price of {}, of {}, is more than a year old: the winner may be another today",
             {best.name, day});
  if (!recent) return text + ".";
  return text + filled("; of those with a price of the last year {} x {} for {} are the cheapest.",
                       {whole(*recent->drives), recent->name, view::dollars(recent->cost_usd())});
}

/// "within 2 % of the fastest that was tried and with flash for 73 days"
Text enough_words(const Drives& drives) {
  const Text speed =
      filled("within {} of the fastest that was tried", {view::share(1 - Drives::enough_speed)});
  return drives.years > 0 ? speed + filled(" and with flash for {}", {view::years(drives.years)})
                          : speed;
}

/// What the step after the number that was tried last would bring, with a blank before it.
Text beyond_words(const Drives& drives) {
  const std::string one_more = result::one_more_drive;
  for (const std::string& name : {one_more, one_more + " of " + drives.classes.front().name}) {
    const auto next = drives.result->next.find(name);
    if (next == drives.result->next.end() || !next->second.step_time_s) continue;
    const double gain = drives.result->step_time_s / *next->second.step_time_s - 1;
    if (gain < 0.0005) return " One more would bring no more.";
    return filled(
        " More of them were not tried: one more would bring {} tokens/s, --most tries it.",
        {view::change(gain)});
  }
  return " More of them were not tried and may bring more: --most.";
}

/// Whether a class's fewer drives last as long as is asked, if only more are fast enough; and that
/// a warranty that ends before was not asked about. With a blank before it.
Text lifetime_words(const Drives& drives, const DriveClass& best) {
  if (drives.years <= 0) return {};
  Text text;
  for (std::size_t i = 0; i + 1 < *best.drives; ++i) {
    const Trial& fewer = best.trials[i];
    if (!fewer.fits() || !drives.lasts(fewer) || !fewer.result->wear->lifetime_years) continue;
    text += filled(" The flash of {} of them lasts as long as is asked too, {}, at {} tokens/s.",
                   {whole(i + 1), view::years(*fewer.result->wear->lifetime_years),
                    view::number(fewer.result->tokens_per_s)});
    break;
  }
  const auto& wear = best.enough()->result->wear;
  if (wear && wear->warranty_ends_years() && *wear->warranty_ends_years() < drives.years)
    text += filled(" The warranty ends before the {} that were asked of the flash.",
                   {view::years(drives.years)});
  return text;
}

/// How many drives of which kind, and what they are enough for.
Text count_words(const Drives& drives, const DriveClass& best) {
  const auto count = static_cast<std::size_t>(*best.drives);
  const Text enough = enough_words(drives);
  if (drives.classes.size() > 1)
    return filled(
        "{} x {} for {}{}: the cheapest of those {}, ",
        {whole(count), best.name, view::dollars(best.cost_usd()), day_words(best), enough});
  if (count == best.trials.size())
    return count == 1 ? Text("1 drive is the most that was tried: ")
                      : filled("{} drives are the most that were tried, and fewer are not {}: ",
                               {whole(count), enough});
  if (best.trials[count].refused)
    return filled("{} drives are the most that this machine takes: ", {whole(count)});
  return filled(count == 1 ? "{} drive is enough, {}: " : "{} drives are enough, {}: ",
                {whole(count), enough});
}

Text answer_words(const Drives& drives, const DriveClass& best) {
  const std::size_t index = *best.drives - 1;
  const result::Result& least = *best.trials[index].result;
  if (least.io.ssd_read + least.io.ssd_write == 0)
    return filled("No drive is needed: no step reads or writes one. {} tokens/s.",
                  {view::number(least.tokens_per_s)});
  const bool last = index + 1 == best.trials.size();
  Text text = count_words(drives, best);
  text += filled("{} tokens/s.", {view::number(least.tokens_per_s)});
  if (last) text += beyond_words(drives);
  if (index > 0)
    text += filled(" With one fewer: {}.", {gain(best.trials[index], best.trials[index - 1])});
  if (!last)
    text += filled(" With one more: {}.", {gain(best.trials[index], best.trials[index + 1])});
  if (!last && fastest(best.trials) == &best.trials.back())
    text += filled(" More than {} were not tried and may bring more: --most.",
                   {whole(best.trials.size())});
  return text + wear_words(least) + lifetime_words(drives, best);
}

/// Adds what it takes of the other classes.
void add_others(view::Document& document, const Drives& drives, const DriveClass* best) {
  for (const DriveClass& one : drives.classes) {
    if (&one == best) continue;
    const Trial* enough = one.enough();
    if (enough) {
      document.say(
          filled("Of {} it takes {} for {}{}: {} tokens/s.{}",
                 {one.name, whole(*one.drives), view::dollars(one.cost_usd()), day_words(one),
                  view::number(enough->result->tokens_per_s), wear_words(*enough->result)}));
      continue;
    }
    const Trial* most = fastest(one.trials);
    Text none = filled("Of {} none of the 1 to {} that were tried is enough",
                       {one.name, whole(one.trials.size())});
    if (most)
      none +=
          filled(": {} tokens/s with {}", {view::number(most->result->tokens_per_s), most->words});
    if (most && drives.years > 0 && most->result->wear && most->result->wear->lifetime_years)
      none += filled(", whose flash lasts {}", {view::years(*most->result->wear->lifetime_years)});
    document.say(none + ".");
  }
}

/// Whether the number of a class that was tried last is the one: more of them may do it.
bool is_last_of_its_class(const Drives& drives, const Trial* trial) {
  return std::any_of(drives.classes.begin(), drives.classes.end(), [trial](const DriveClass& one) {
    return !one.trials.empty() && trial == &one.trials.back();
  });
}

/// How near the drives come that were tried, and what would do.
Text none_words(const Drives& drives) {
  if (drives.counts.unknown() > 0)
    return filled("Not known: of {} numbers of drives nobody knows whether they do it. ",
                  {view::count(drives.counts.unknown())}) +
           counts_words(drives.counts);
  const Trial* best = drives.longest_lasting();
  if (!best) {
    const Trial& first = drives.classes.front().trials.front();
    return "No number of drives does it: " + first.words + ": " + first.reason + ". " +
           counts_words(drives.counts);
  }
  const double years = *best->result->wear->lifetime_years;
  const bool more_last_longer = is_last_of_its_class(drives, best);
  Text text = filled(
      "{} {} last longest: their flash {} of the {} that are asked for, at {} "
      "tokens/s.",
      {more_last_longer ? "None of the numbers of drives that were tried does it."
                        : "No number of drives does it.",
       best->words, view::years(years), view::years(drives.years),
       view::number(best->result->tokens_per_s)});
  if (years < drives.years)
    text += filled(
        " They would last as long if they trained {} of the time, or if each were rated for {} "
        "times the bytes.",
        {view::share(years / drives.years), view::number(drives.years / years)});
  if (more_last_longer) text += " More of them were not tried and may last long enough: --most.";
  return text + " " + counts_words(drives.counts);
}

/// ", up to 1.0 years" where more drives only last longer.
Text longer_words(const Trial& first, const Trial& last) {
  if (!first.fits() || !first.result->wear || !first.result->wear->lifetime_years) return {};
  const Text from = view::years(*first.result->wear->lifetime_years);
  const Text to = view::years(*last.result->wear->lifetime_years);
  return from == to ? Text() : ", up to " + to;
}

/// Numbers of drives that read the same but for how long they last are one line.
std::vector<TrialLine> folded(const Drives& drives) {
  std::vector<TrialLine> shown;
  const auto same = [](const Trial& one, const Trial& other) {
    if (one.fits() != other.fits()) return false;
    if (one.refused && other.refused) return true;  // by the first number that the board refuses
    return one.fits() ? reads_the_same(*one.result, *other.result) : one.reason == other.reason;
  };
  for (const DriveClass& one : drives.classes)
    for (std::size_t i = 0, end = 0; i < one.trials.size(); i = end) {
      for (end = i + 1; end < one.trials.size() && same(one.trials[i], one.trials[end]);) ++end;
      const Trial &first = one.trials[i], &last = one.trials[end - 1];
      shown.push_back({first.words, &first});
      if (end > i + 1)
        shown.back().words =
            filled("{} to {}{}", {whole(i + 1), last.words, longer_words(first, last)});
    }
  return shown;
}

}  // namespace

view::Document drives_document(const Drives& drives) {
  view::Document document;
  document.title = "Drives";
  document.add(trials_table(folded(drives)));
  const DriveClass* best = drives.cheapest();
  if (!best || !drives.result) {
    document.say(none_words(drives));
    for (const Text& note : drives.notes) document.say("Note: " + note + ".");
    return document;
  }
  document.say(answer_words(drives, *best));
  document.say(old_winner_words(drives, *best));
  const result::Result& enough = *best->enough()->result;
  if (const std::string limit = result::limited_by(*drives.result); !limit.empty())
    document.say("With them a step is limited by " + limit + ".");
  for (std::size_t i = enough.notes.size(); i < drives.result->notes.size(); ++i)
    document.say("Note: " + drives.result->notes[i] + ".");
  add_others(document, drives, best);
  return document.say(counts_words(drives.counts) + " " + certainty_words(enough, drives.certainty))
      .say(drives.old_prices);
}

std::string drives_report(const Drives& drives, const Screen& screen) {
  return text_of_trials(drives_document(drives), screen);
}

}  // namespace spillway::reports
