#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "cli/verbs.hpp"
#include "reports/human.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <memory>

namespace spillway::cli {

using explore::Trial;
using explore::TrialCounts;
using nlohmann::json;

namespace {

struct DrivesOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  std::uint64_t most = 16;
  bool json = false;
};

/// Simulates them; what is wrong with all of them is an error.
void try_or_refuse(const json& base, std::vector<Trial>& trials) {
  if (const auto wrong = try_all(simulator(), base, trials)) throw *wrong;
}

/// Simulates what was ruled out by its bound.
void try_one(const json& base, Trial& trial, TrialCounts& counts) {
  std::vector<Trial> again = {{trial.words, trial.overrides, std::nullopt, ""}};
  try_or_refuse(base, again);
  trial = std::move(again.front());
  --counts.ruled_out;
  ++counts.simulated;
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

std::vector<Trial> powers(const std::string& system, const char* words, const char* path,
                          std::uint64_t from, std::uint64_t to) {
  std::vector<Trial> trials;
  for (std::uint64_t value = from; value <= to; value *= 2)
    trials.push_back({fmt::format("{} {}", words, value),
                      {set_system(system), fmt::format("{}={}", path, value)},
                      std::nullopt,
                      ""});
  return trials;
}

/// Of each model the fastest of the systems that fit.
std::vector<Trial> models_that_fit(const PlanOptions& options, TrialCounts& counts) {
  std::vector<Trial> trials;
  std::optional<description::ScenarioError> wrong;
  bool any = false;
  for (const std::string& model : options.models) {
    std::vector<Trial> own;
    for (const std::string& system : systems_or_all(options.systems))
      own.push_back({model + " with " + system, {set_system(system)}, std::nullopt, ""});
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

void plan_largest(const PlanOptions& options) {
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
  auto contexts = powers(system, "context", "training.sequence", 512, 1 << 20);
  auto batches = powers(system, "micro-batch", "training.micro_batch", 1, 1024);
  for (auto* trials : {&contexts, &batches}) {
    add_overrides(*trials, options);
    try_or_refuse(plan_base(options, model), *trials);
    counts.simulated += trials->size();
  }
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

/// The first drives of a machine that wear.
std::string drives_of(const description::Scenario& scenario) {
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd) return storage.name;
  refuse("scenario", scenario.machine.name + " has no drives",
         "name a scenario on another machine");
}

/// Of the best: as good as it.
constexpr double nearly = 0.98;

/// The fewest drives that are nearly as good as the best.
std::size_t enough(const std::vector<Trial>& trials) {
  const Trial* best = explore::fastest(trials);
  for (std::size_t i = 0; best && i < trials.size(); ++i)
    if (trials[i].fits() && trials[i].result->tokens_per_s >= nearly * best->result->tokens_per_s)
      return i;
  return trials.size();
}

std::string gain(const Trial& from, const Trial& to) {
  if (!to.fits()) return "it does not fit: " + to.reason;
  const double share = to.result->tokens_per_s / from.result->tokens_per_s - 1;
  return fmt::format("{:+.1f} % tokens/s", 100 * share);
}

void plan_drives(const DrivesOptions& options) {
  const description::Scenario scenario = read(options.scenario, options.overrides).scenario;
  const std::string name = drives_of(scenario);
  std::vector<Trial> trials;
  for (std::uint64_t count = 1; count <= options.most; ++count)
    trials.push_back({fmt::format("{} of {}", count, name),
                      {fmt::format("machine.storage.{}.count={}", name, count)},
                      std::nullopt,
                      ""});
  TrialCounts counts;
  if (const auto wrong = try_fastest(simulator(), scenario, trials, nearly, counts)) throw *wrong;
  const std::size_t index = enough(trials);
  const bool found = index < trials.size();
  for (const std::size_t beside : {index - 1, index + 1})
    if (found && beside < trials.size() && trials[beside].ruled_out)
      try_one(scenario, trials[beside], counts);
  if (options.json)
    return print_json({{"drives", found ? json(index + 1) : json()},
                       {"counts", counts_json(counts)},
                       {"trials", trials_json(trials)}});
  print(evidence(trials) + "\n");
  if (!found) return print_paragraph("No number of drives makes it fit.");
  const result::Result& best = *trials[index].result;
  const bool last = index + 1 == trials.size();
  std::string text = fmt::format(
      "{} {}: {} tokens/s.", index + 1,
      last ? "drives are the most that were tried, more may bring more" : "drives are enough",
      reports::human_number(best.tokens_per_s));
  if (index > 0) text += " With one fewer: " + gain(trials[index], trials[index - 1]) + ".";
  if (!last) text += " With one more: " + gain(trials[index], trials[index + 1]) + ".";
  if (best.wear && best.wear->lifetime_years)
    text += fmt::format(" They last {}", reports::human_years(*best.wear->lifetime_years));
  if (best.wear && best.wear->usd_per_million_tokens)
    text += fmt::format(" and lose ${:.3g} in value per million tokens.",
                        *best.wear->usd_per_million_tokens);
  else if (best.wear && best.wear->lifetime_years)
    text += ".";
  print_paragraph(text + " " + counts_words(counts) + " " + certainty(best));
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("plan", "what to buy, and what to do with what one has");
  verb->require_subcommand(1);
  verb->footer("Example:\n  spillway plan drives scenarios/examples/lohan_13b_batch32.json");
  auto largest = std::make_shared<PlanOptions>();
  auto drives = std::make_shared<DrivesOptions>();
  add_plan_settings(*verb);
  add_plan_machine(*verb);
  CLI::App* own =
      verb->add_subcommand("largest", "largest model, longest context, largest batch that fit");
  own->add_option("--model", largest->models, "models, the smallest first")
      ->delimiter(',')
      ->required();
  add_plan_options(*own, *largest);
  add_plan_ending(*own, *largest);
  own->callback([largest] { plan_largest(*largest); });
  own = verb->add_subcommand("drives", "how many drives are enough, and how long they last");
  own->add_option("scenario", drives->scenario, "what is trained on them")->required();
  own->add_option("--most", drives->most, "drives that are tried at most")
      ->check(CLI::PositiveNumber);
  add_set(*own, drives->overrides, "override one value of all that is tried");
  own->add_flag("--json", drives->json, "with the whole result of everything that was tried");
  own->callback([drives] { plan_drives(*drives); });
}

}  // namespace spillway::cli
