#include "reports/plan/plan_report.hpp"
#include "reports/words/trials_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

namespace spillway::reports {

using answer::Trial;
using view::filled;
using view::Text;

namespace {

/// The largest of trials in growing order that fits, and the first one above it that does not;
/// what was not answered in between is no limit.
Text largest_of(const std::vector<Trial>& trials) {
  std::size_t next = trials.size();
  while (next > 0 && !trials[next - 1].fits()) --next;
  if (next == 0) {
    const auto tried = [](const Trial& trial) { return !trial.not_tried; };
    if (std::all_of(trials.begin(), trials.end(), tried)) return "none";
    return std::any_of(trials.begin(), trials.end(), tried) ? "none that was tried" : "not tried";
  }
  Text text = trials[next - 1].words;
  if (next == trials.size() || trials[next].not_tried) return text + ", the largest that was tried";
  std::size_t known = next;
  while (known < trials.size() && trials[known].unanswered) ++known;
  std::vector<std::string> unknown;
  for (std::size_t i = next; i < known; ++i) unknown.push_back(trials[i].words);
  if (known > next)
    text += filled("; no answer for {}: {}",
                   {fmt::format("{}", fmt::join(unknown, ", ")), trials[next].reason});
  if (known < trials.size())
    text += filled("; {} does not: {}", {trials[known].words, trials[known].reason});
  return text;
}

/// Of contexts and batches: "context 12288 (slideformer)" is of another system than the fastest.
bool others_go_on(const answer::Largest& found) {
  const auto of_another = [](const Trial& trial) { return trial.words.ends_with(')'); };
  return std::any_of(found.contexts.begin(), found.contexts.end(), of_another) ||
         std::any_of(found.batches.begin(), found.batches.end(), of_another);
}

/// Without what is larger still than the first that does not fit above all that do.
std::vector<Trial> up_to_the_first_miss(const std::vector<Trial>& trials) {
  const auto fits =
      std::find_if(trials.rbegin(), trials.rend(), [](const Trial& trial) { return trial.fits(); });
  const std::ptrdiff_t most = trials.rend() - fits;
  return {trials.begin(), trials.begin() + std::min(most + 1, std::ssize(trials))};
}

}  // namespace

view::Document largest_document(const answer::Largest& found) {
  view::Document document;
  document.title = "Largest model, context and batch";
  const Trial* largest = found.largest();
  if (!largest) {
    document.add(trials_table(found.models));
    if (found.counts.unknown() == 0) return document.say("None of them fits.");
    return document.say(
        view::filled("Not known: none that was simulated fits, and of {} nobody knows.",
                     {view::count(found.counts.unknown())}));
  }
  std::vector<Trial> all = found.models;
  for (const auto* ladder : {&found.contexts, &found.batches}) {
    const std::vector<Trial> shown = up_to_the_first_miss(*ladder);
    all.insert(all.end(), shown.begin(), shown.end());
  }
  document.add(trials_table(all))
      .say("Largest model: " + largest_of(found.models) + ".")
      .say("Longest context at micro-batch 1: " + largest_of(found.contexts) + ".")
      .say(filled("Largest batch at context {}: {}.",
                  {view::plain(static_cast<double>(found.context)), largest_of(found.batches)}));
  if (others_go_on(found))
    document.say(
        "What stands in brackets goes on where the faster way before it has no room: another "
        "system, and where none of them has room, settings besides that cost nothing.");
  if (const Trial* best = fastest(found.batches)) {
    document.say(filled("Of these batches {} is fastest at {}: {}.",
                        {found.model, best->words, rate_words(*best->result)}));
    add_around(document, *best->result, found.old_prices);
  }
  return document.say(counts_words(found.counts) + " " +
                      certainty_words(*largest->result, found.certainty));
}

std::string largest_report(const answer::Largest& found, const Screen& screen) {
  return text_of_trials(largest_document(found), screen);
}

}  // namespace spillway::reports
