#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "cli/verbs.hpp"
#include "models/model.hpp"
#include "reports/human.hpp"
#include "scenarios/read_model.hpp"
#include "scenarios/shipped.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <memory>

namespace spillway::cli {

using explore::Trial;
using explore::TrialCounts;
using nlohmann::json;

namespace {

/// The models that are asked for, each once; the beginning of several shipped names ("qwen2.5")
/// stands for all of them, the smallest first.
std::vector<std::string> models_of(const std::vector<std::string>& asked) {
  const std::vector<std::string> shipped = scenarios::shipped_names("models/library");
  std::vector<std::string> models;
  for (const std::string& name : asked) {
    std::vector<std::pair<std::uint64_t, std::string>> family;
    if (std::find(shipped.begin(), shipped.end(), name) == shipped.end())
      for (const std::string& member : shipped)
        if (member.starts_with(name + "-") || member.starts_with(name + "."))
          family.emplace_back(models::build_model(scenarios::read_model(member)).parameters.value(),
                              member);
    std::sort(family.begin(), family.end());
    if (family.empty()) family.emplace_back(0, name);
    for (const auto& [size, member] : family)
      if (std::find(models.begin(), models.end(), member) == models.end()) models.push_back(member);
  }
  return models;
}

/// The largest of trials in growing order that fits, and the first one above it that does not;
/// what was not answered in between is no limit.
std::string largest_of(const std::vector<Trial>& trials) {
  std::size_t next = trials.size();
  while (next > 0 && !trials[next - 1].fits()) --next;
  if (next == 0) return "none";
  std::string text = trials[next - 1].words;
  if (next == trials.size() || trials[next].not_tried) return text + ", the largest that was tried";
  std::size_t known = next;
  while (known < trials.size() && trials[known].unanswered) ++known;
  std::vector<std::string> unknown;
  for (std::size_t i = next; i < known; ++i) unknown.push_back(trials[i].words);
  if (known > next)
    text += fmt::format("; no answer for {}: {}", fmt::join(unknown, ", "), trials[next].reason);
  if (known < trials.size())
    text += fmt::format("; {} does not: {}", trials[known].words, trials[known].reason);
  return text;
}

/// A number of the training, and from where to where it is tried.
struct Ladder {
  const char* words;
  const char* path;
  std::uint64_t from, to;
};

std::vector<Trial> with_values(const Trial& like, const Ladder& ladder,
                               const std::vector<std::uint64_t>& values) {
  std::vector<Trial> trials;
  for (const std::uint64_t value : values) {
    Trial& trial = trials.emplace_back();
    trial.words = fmt::format("{} {}", ladder.words, value);
    trial.overrides = {fmt::format("{}={}", ladder.path, value)};
    trial.overrides.insert(trial.overrides.begin(), like.overrides.begin(), like.overrides.end());
  }
  return trials;
}

/// Powers of two, then eighths between the largest of them that fits and the next.
std::vector<Trial> climb(const explore::Backend& backend, const json& base, const Trial& like,
                         const Ladder& ladder, const PlanOptions& options, TrialCounts& counts) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = ladder.from; value <= ladder.to; value *= 2) values.push_back(value);
  std::vector<Trial> trials = with_values(like, ladder, values);
  add_overrides(trials, options);
  try_or_refuse(backend, base, trials);
  const auto fits =
      std::find_if(trials.rbegin(), trials.rend(), [](const Trial& trial) { return trial.fits(); });
  if (fits != trials.rend() && fits != trials.rbegin()) {
    const std::size_t next = static_cast<std::size_t>(trials.rend() - fits);
    const std::uint64_t most = values[next - 1], step = std::max<std::uint64_t>(1, most / 8);
    std::vector<std::uint64_t> between;
    for (std::uint64_t value = most + step; value < values[next]; value += step)
      between.push_back(value);
    std::vector<Trial> fine = with_values(like, ladder, between);
    add_overrides(fine, options);
    try_all(backend, base, fine);  // all of them may be too long for the model
    trials.insert(trials.begin() + static_cast<std::ptrdiff_t>(next), fine.begin(), fine.end());
  }
  for (const Trial& trial : trials) {
    counts.simulated += trial.result.has_value();
    counts.not_tried += trial.not_tried;
  }
  keep_first_refusal(trials);
  find_needs(backend, base, trials);
  return trials;
}

/// Of each model the fastest of the systems that fit.
std::vector<Trial> models_that_fit(const explore::Backend& backend, const PlanOptions& options,
                                   TrialCounts& counts) {
  std::vector<Trial> trials;
  std::optional<description::ScenarioError> wrong;
  bool any = false;
  for (const std::string& model : options.models) {
    std::vector<Trial> own;
    for (const Way& way : runnable_ways(options, plan_base(options, model), options.overrides))
      for (const Split& split : splits_of(options)) {
        Trial& trial = own.emplace_back();
        trial.words = model + " with " + way.name + split.name;
        trial.overrides = {way.overrides};
        trial.overrides.insert(trial.overrides.end(), split.overrides.begin(),
                               split.overrides.end());
      }
    add_overrides(own, options);
    const auto refused = try_fastest(backend, plan_base(options, model), own, 1, counts);
    if (!wrong) wrong = refused;
    any = any || !refused;
    const Trial* best = explore::fastest(own);
    if (!best && !refused && own.front().ruled_out)  // the buffer that stops it is worth a look
      try_one(backend, plan_base(options, model), own.front(), counts);
    trials.push_back(best ? *best : own.front());
    if (!best) find_needs(backend, plan_base(options, model), {&trials.back()});
  }
  if (!any && wrong) throw *wrong;
  return trials;
}

/// Everything about one machine.
struct Largest {
  std::string model, system;
  std::vector<Trial> models, contexts, batches;
  const Trial* largest = nullptr;  ///< of `models`; nullptr: none fits
};

Largest find_largest(const explore::Backend& backend, Monitor& monitor, const PlanOptions& options,
                     TrialCounts& counts) {
  Largest found;
  monitor.say("models");
  found.models = models_that_fit(backend, options, counts);
  for (std::size_t i = 0; i < found.models.size(); ++i)
    if (found.models[i].fits()) found.largest = &found.models[i], found.model = options.models[i];
  if (!found.largest) return found;
  found.system = found.largest->result->system;
  const json base = plan_base(options, found.model);
  monitor.say("contexts of " + found.model);
  found.contexts = climb(backend, base, *found.largest,
                         {"context", "training.sequence", 512, 1 << 20}, options, counts);
  monitor.say("batches of " + found.model);
  found.batches = climb(backend, base, *found.largest,
                        {"micro-batch", "training.micro_batch", 1, 1024}, options, counts);
  const Trial* best = explore::fastest(found.batches);
  for (Trial& trial : found.batches)
    if (&trial == best) add_range(options.run, *trial.result);
  return found;
}

/// Without what is larger still than the first that does not fit above all that do.
std::vector<Trial> up_to_the_first_miss(const std::vector<Trial>& trials) {
  const auto fits =
      std::find_if(trials.rbegin(), trials.rend(), [](const Trial& trial) { return trial.fits(); });
  const std::ptrdiff_t most = trials.rend() - fits;
  return {trials.begin(), trials.begin() + std::min(most + 1, std::ssize(trials))};
}

void print_largest(const PlanOptions& options, const Largest& found, const TrialCounts& counts) {
  if (!found.largest)
    return print(evidence(found.models) + (counts.not_tried > 0 ? "\nNone that was tried fits.\n"
                                                                : "\nNone of them fits.\n"));
  std::vector<Trial> all = found.models;
  for (const auto* ladder : {&found.contexts, &found.batches}) {
    const std::vector<Trial> shown = up_to_the_first_miss(*ladder);
    all.insert(all.end(), shown.begin(), shown.end());
  }
  print(evidence(all) + "\n");
  print_paragraph("Largest model: " + largest_of(found.models) + ".");
  print_paragraph("Longest context at micro-batch 1: " + largest_of(found.contexts) + ".");
  print_paragraph(
      fmt::format("Largest batch at context {}: {}.", options.sequence, largest_of(found.batches)));
  if (const Trial* best = explore::fastest(found.batches)) {
    print_paragraph(fmt::format("{} is fastest at {}: {}.", found.model, best->words,
                                rate_words(*best->result)));
    print_around(options.run, *best->result);
  }
  print_paragraph(counts_words(counts) + " " + certainty(*found.largest->result));
}

void plan_largest(PlanOptions options) {
  options.models = models_of(options.models);
  TrialCounts counts;
  Monitor monitor("models", options.limit_s);
  const Largest found = find_largest(monitor.backend(), monitor, options, counts);
  monitor.clear();
  if (!options.json) {
    print_largest(options, found, counts);
  } else if (!found.largest) {
    print_json({{"models", trials_json(found.models)}, {"counts", counts_json(counts)}});
  } else {
    print_json({{"model", found.model},
                {"system", found.system},
                {"models", trials_json(found.models)},
                {"contexts", trials_json(found.contexts)},
                {"batches", trials_json(found.batches)},
                {"counts", counts_json(counts)}});
  }
  finish(monitor, counts, options.json);
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("plan", "what to buy, and what to do with what one has");
  verb->require_subcommand(1);
  verb->footer("Example:\n  spillway plan drives scenarios/examples/lohan_13b_batch32.json");
  auto largest = std::make_shared<PlanOptions>();
  add_plan_settings(*verb);
  add_plan_machine(*verb);
  add_plan_drives(*verb);
  CLI::App* own =
      verb->add_subcommand("largest", "largest model, longest context, largest batch that fit");
  own->add_option("--model", largest->models,
                  "models, the smallest first, or the beginning of their names")
      ->delimiter(',')
      ->required();
  add_plan_options(*own, *largest);
  add_plan_ending(*own, *largest);
  own->footer(
      "Example:\n  spillway plan largest --model qwen2.5 --machine gaming_4090 --system memascend");
  own->callback([largest] { plan_largest(*largest); });
}

}  // namespace spillway::cli
