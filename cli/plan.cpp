#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "cli/verbs.hpp"
#include "models/model.hpp"
#include "reports/human.hpp"
#include "scenarios/read_model.hpp"
#include "scenarios/shipped.hpp"

#include <fmt/format.h>
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

/// The largest of trials in growing order that fits, and the first one above it.
std::string largest_of(const std::vector<Trial>& trials) {
  for (std::size_t i = trials.size(); i-- > 0;) {
    if (!trials[i].fits()) continue;
    const std::string found = trials[i].words;
    if (i + 1 == trials.size()) return found + ", the largest that was tried";
    return fmt::format("{}; {} does not: {}", found, trials[i + 1].words, trials[i + 1].reason);
  }
  return "none";
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
std::vector<Trial> climb(const json& base, const Trial& like, const Ladder& ladder,
                         const PlanOptions& options, TrialCounts& counts) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = ladder.from; value <= ladder.to; value *= 2) values.push_back(value);
  std::vector<Trial> trials = with_values(like, ladder, values);
  add_overrides(trials, options);
  try_or_refuse(base, trials);
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
    try_all(simulator(), base, fine);  // all of them may be too long for the model
    trials.insert(trials.begin() + static_cast<std::ptrdiff_t>(next), fine.begin(), fine.end());
  }
  for (const Trial& trial : trials) counts.simulated += trial.result.has_value();
  return trials;
}

/// Of each model the fastest of the systems that fit.
std::vector<Trial> models_that_fit(const PlanOptions& options, TrialCounts& counts) {
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
    const auto refused = try_fastest(simulator(), plan_base(options, model), own, 1, counts);
    if (!wrong) wrong = refused;
    any = any || !refused;
    const Trial* best = explore::fastest(own);
    if (!best && !refused && own.front().ruled_out)  // the buffer that stops it is worth a look
      try_one(plan_base(options, model), own.front(), counts);
    trials.push_back(best ? *best : own.front());
  }
  if (!any && wrong) throw *wrong;
  return trials;
}

void plan_largest(PlanOptions options) {
  options.models = models_of(options.models);
  TrialCounts counts;
  const std::vector<Trial> models = models_that_fit(options, counts);
  const auto largest =
      std::find_if(models.rbegin(), models.rend(), [](const Trial& trial) { return trial.fits(); });
  if (largest == models.rend()) {
    if (options.json)
      return print_json({{"models", trials_json(models)}, {"counts", counts_json(counts)}});
    return print(evidence(models) + "\nNone of them fits.\n");
  }
  const std::size_t index = static_cast<std::size_t>(models.rend() - largest) - 1;
  const std::string model = options.models[index], system = largest->result->system;
  const json base = plan_base(options, model);
  const auto contexts =
      climb(base, *largest, {"context", "training.sequence", 512, 1 << 20}, options, counts);
  const auto batches =
      climb(base, *largest, {"micro-batch", "training.micro_batch", 1, 1024}, options, counts);
  if (options.json)
    return print_json({{"model", model},
                       {"system", system},
                       {"models", trials_json(models)},
                       {"contexts", trials_json(contexts)},
                       {"batches", trials_json(batches)},
                       {"counts", counts_json(counts)}});
  std::vector<Trial> all = models;
  all.insert(all.end(), contexts.begin(), contexts.end());
  all.insert(all.end(), batches.begin(), batches.end());
  print(evidence(all) + "\n");
  print_paragraph("Largest model: " + largest_of(models) + ".");
  print_paragraph("Longest context at micro-batch 1: " + largest_of(contexts) + ".");
  print_paragraph(
      fmt::format("Largest batch at context {}: {}.", options.sequence, largest_of(batches)));
  print_paragraph(counts_words(counts) + " " + certainty(*largest->result));
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
  own->callback([largest] { plan_largest(*largest); });
}

}  // namespace spillway::cli
