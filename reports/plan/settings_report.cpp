#include "reports/plan/plan_report.hpp"
#include "reports/run/simulate_report.hpp"
#include "reports/words/table.hpp"
#include "reports/words/trials_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <set>

namespace spillway::reports {

using answer::BestSettings;
using answer::Trial;
using view::filled;
using view::Text;

namespace {

/// Where DeepSpeed's file is, or why it is not.
std::string file_words(const SettingsWords& words) {
  if (words.scenario_file.empty()) return ".";
  if (!words.deepspeed_file.empty()) return ": " + words.deepspeed_file + ".";
  return "; its file is not written, as it needs --nvme-path, the folder on the drives.";
}

/// Whether DeepSpeed can run the answer, and how fast what it can run is there.
Text deepspeed_words(const BestSettings& settings, const SettingsWords& words) {
  const auto& deepspeed = settings.deepspeed;
  if (!deepspeed) return "DeepSpeed can run nothing that fits: " + settings.refusal + ".";
  const std::string version = "DeepSpeed " + deepspeed->version;
  const Text speed = view::number(deepspeed->tokens_per_s) + Text(" tokens/s");
  Text text = deepspeed->is_best
                  ? filled("{} can run it, at {}", {version, speed})
                  : filled("DeepSpeed cannot run it ({}). The fastest that {} can is {}: {}",
                           {settings.refusal, version, deepspeed->words, speed});
  text += file_words(words);
  if (!deepspeed->notes.empty() && !words.deepspeed_file.empty())
    text += " " + view::joined(deepspeed->notes, "; ") + ".";
  return text;
}

/// What was simulated, and a trial of each way of which nothing was.
std::vector<Trial> worth_a_look(const std::vector<Trial>& trials) {
  const auto way = [](const Trial& trial) {
    return trial.words.substr(0, trial.words.find(", micro-batch"));
  };
  std::set<std::string> simulated, seen;
  for (const Trial& trial : trials)
    if (trial.result) simulated.insert(way(trial));
  std::vector<Trial> shown;
  for (const Trial& trial : trials)
    if (trial.result || (!simulated.contains(way(trial)) && seen.insert(way(trial)).second))
      shown.push_back(trial);
  return shown;
}

/// A step of one micro-batch is what was asked for by nobody; "" where more bring nothing.
Text more_samples_words(const BestSettings& settings) {
  if (!settings.more_samples) return {};
  const answer::MoreSamples& more = *settings.more_samples;
  const auto whole = [](std::uint64_t number) { return view::plain(static_cast<double>(number)); };
  return filled(
      "Where a step may have more samples: {} micro-batches{} before each update{}, {} samples a "
      "step in place of {}, make {} tokens/s; {} answers for them.",
      {whole(more.accumulation), answer::size_of_each(more),
       more.system.empty() ? "" : " with " + more.system, whole(more.samples),
       whole(more.samples_now), view::number(more.tokens_per_s),
       unbroken(fmt::format("--accumulation {}", more.accumulation))});
}

/// What costs nothing beside the answer, and how to have it.
void add_free_settings(view::Document& document, const BestSettings& settings,
                       const SettingsWords& words) {
  if (settings.faster.empty()) return;
  add_faster(document, settings.faster, *settings.best_trial()->result);
  if (words.scenario_file.empty())
    document.add(
        view::Paragraph{"Of the scenario that --out writes, simulate takes them by --set."}, true);
  else
    add_faster_command(document, settings.faster, words.scenario_file, {});
}

}  // namespace

view::Document settings_document(const BestSettings& settings, const SettingsWords& words) {
  view::Document document;
  document.title = settings.model + " on " + words.machine;
  const std::vector<Trial> shown = worth_a_look(settings.trials);
  document.add(trials_table(shown));
  const auto ruled_out = [](const Trial& trial) { return trial.ruled_out; };
  const auto more = std::count_if(settings.trials.begin(), settings.trials.end(), ruled_out) -
                    std::count_if(shown.begin(), shown.end(), ruled_out);
  if (more > 0)
    document.add(
        view::Paragraph{.text = filled("{} more, ruled out by their bounds, are in --json.",
                                       {view::plain(static_cast<double>(more))}),
                        .wraps = false},
        true);
  const Trial* best = settings.best_trial();
  if (!best) {
    document.add(view::Paragraph{
        settings.counts.unknown() == 0
            ? view::Text(settings.model +
                         " fits on this machine with none of them, and as far as they can be set "
                         "besides with none of these: a fused loss, checkpoints in host memory, "
                         "one sample over all GPUs.")
            : filled("Not known whether {} fits on this machine: with none that was simulated, and "
                     "of {} nobody knows.",
                     {settings.model, view::count(settings.counts.unknown())})});
    return document.say(counts_words(settings.counts));
  }
  const result::Result& result = *best->result;
  document.add(view::Paragraph{
      filled("{} on {} is fastest with {}: {}, {} tokens a step{}. {}",
             {settings.model, words.machine, best->words, rate_words(result),
              view::number(result.tokens_per_s * result.step_time_s),
              words.one_batch ? "" : " (--global-batch compares at one size of a step)",
              counts_words(settings.counts)})});
  add_around(document, result, settings.old_prices);
  add_free_settings(document, settings, words);
  add_notes(document, result);
  return document.say(more_samples_words(settings))
      .say(deepspeed_words(settings, words))
      .say(certainty_words(result, settings.certainty));
}

std::string settings_report(const BestSettings& settings, const SettingsWords& words,
                            const Screen& screen) {
  return text_of_trials(settings_document(settings, words), screen);
}

}  // namespace spillway::reports
