#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "cli/verbs.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <memory>

namespace spillway::cli {

using explore::Trial;
using nlohmann::json;
using reports::Align;

namespace {

struct Options {
  std::string model, machine, precision = "bf16_mixed", scenario, out;
  std::vector<std::string> models, systems, overrides;
  std::uint64_t sequence = 4096, most = 16;
  bool json = false;
};

json base_of(const Options& options, const std::string& model) {
  return {{"model", model},
          {"machine", options.machine},
          {"training", {{"precision", options.precision}, {"sequence", options.sequence}}},
          {"strategy", {{"system", "zero_infinity"}}},
          {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
}

void add_overrides(std::vector<Trial>& trials, const Options& options) {
  for (Trial& trial : trials)
    trial.overrides.insert(trial.overrides.end(), options.overrides.begin(),
                           options.overrides.end());
}

/// Simulates them; what is wrong with all of them is an error.
void try_or_refuse(const json& base, std::vector<Trial>& trials) {
  if (const auto wrong = try_all(simulator(), base, trials)) throw *wrong;
}

json all_json(const std::vector<Trial>& trials) {
  json all = json::array();
  for (const Trial& trial : trials) all.push_back(trial_json(trial));
  return all;
}

/// What was simulated, a line each.
std::string evidence(const std::vector<Trial>& trials) {
  reports::Table table;
  table.columns = {{"simulated", Align::left, 0},  {"tokens/s", Align::right, 0},
                   {"step", Align::right, 0},      {"GPU peak", Align::right, 0},
                   {"host peak", Align::right, 0}, {"drives last", Align::right, 0},
                   {"why not", Align::left, 0}};
  for (const Trial& trial : trials) {
    auto& cells = table.rows.emplace_back(std::vector<reports::Cell>{trial.words});
    if (trial.fits()) {
      const result::Result& result = *trial.result;
      const bool worn = result.wear && result.wear->lifetime_years;
      cells.insert(
          cells.end(),
          {reports::human_number(result.tokens_per_s), reports::human_time(result.step_time_s),
           reports::human_memory(result.gpu.total), reports::human_memory(result.host.total),
           worn ? reports::human_years(*result.wear->lifetime_years) : "-"});
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-", trial.reason});
    }
  }
  reports::drop_silent_columns(table);
  return to_text(table, reports::screen_of(stdout));
}

void plan_settings(const Options& options) {
  std::vector<Trial> trials;
  for (const std::string& system : systems_or_all(options.systems))
    for (const std::uint64_t batch : {1, 2, 4, 8, 16, 32})
      trials.push_back({fmt::format("{}, micro-batch {}", system, batch),
                        {set_system(system), fmt::format("training.micro_batch={}", batch)},
                        std::nullopt,
                        ""});
  add_overrides(trials, options);
  try_or_refuse(base_of(options, options.model), trials);
  const Trial* best = explore::fastest(trials);
  if (best && !options.out.empty()) write_file(options.out, best->result->scenario.dump(2) + "\n");
  if (options.json)
    return print_json({{"best", best ? trial_json(*best) : json()}, {"trials", all_json(trials)}});
  print(evidence(trials) + "\n");
  if (!best) return print_paragraph(options.model + " fits on this machine with none of them.");
  print_paragraph(fmt::format(
      "{} on {} is fastest with {}: {} tokens/s. {}", options.model, options.machine, best->words,
      reports::human_number(best->result->tokens_per_s), certainty(*best->result)));
  if (options.out.empty()) print("--out FILE writes that scenario.\n");
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
std::vector<Trial> models_that_fit(const Options& options) {
  std::vector<Trial> trials;
  std::optional<description::ScenarioError> wrong;
  bool any = false;
  for (const std::string& model : options.models) {
    std::vector<Trial> own;
    for (const std::string& system : systems_or_all(options.systems))
      own.push_back({model + " with " + system, {set_system(system)}, std::nullopt, ""});
    add_overrides(own, options);
    const auto refused = try_all(simulator(), base_of(options, model), own);
    if (!wrong) wrong = refused;
    any = any || !refused;
    const Trial* best = explore::fastest(own);
    trials.push_back(best ? *best : own.front());
  }
  if (!any && wrong) throw *wrong;
  return trials;
}

void plan_largest(const Options& options) {
  const std::vector<Trial> models = models_that_fit(options);
  const auto largest =
      std::find_if(models.rbegin(), models.rend(), [](const Trial& trial) { return trial.fits(); });
  if (largest == models.rend()) {
    if (options.json) return print_json({{"models", all_json(models)}});
    return print(evidence(models) + "\nNone of them fits.\n");
  }
  const std::size_t index = static_cast<std::size_t>(models.rend() - largest) - 1;
  const std::string model = options.models[index], system = largest->result->system;
  auto contexts = powers(system, "context", "training.sequence", 512, 1 << 20);
  auto batches = powers(system, "micro-batch", "training.micro_batch", 1, 1024);
  for (auto* trials : {&contexts, &batches}) {
    add_overrides(*trials, options);
    try_or_refuse(base_of(options, model), *trials);
  }
  if (options.json)
    return print_json({{"model", model},
                       {"system", system},
                       {"models", all_json(models)},
                       {"contexts", all_json(contexts)},
                       {"batches", all_json(batches)}});
  std::vector<Trial> all = models;
  all.insert(all.end(), contexts.begin(), contexts.end());
  all.insert(all.end(), batches.begin(), batches.end());
  print(evidence(all) + "\n");
  print_paragraph("Largest model: " + largest_of(models) + ".");
  print_paragraph("Longest context at micro-batch 1: " + largest_of(contexts) + ".");
  print_paragraph(
      fmt::format("Largest batch at context {}: {}.", options.sequence, largest_of(batches)));
  print_paragraph(certainty(*largest->result));
}

/// The first drives of a machine that wear.
std::string drives_of(const description::Scenario& scenario) {
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd) return storage.name;
  refuse("scenario", scenario.machine.name + " has no drives",
         "name a scenario on another machine");
}

/// The fewest drives that are within 2 % of the best.
std::size_t enough(const std::vector<Trial>& trials) {
  const Trial* best = explore::fastest(trials);
  for (std::size_t i = 0; best && i < trials.size(); ++i)
    if (trials[i].fits() && trials[i].result->tokens_per_s >= 0.98 * best->result->tokens_per_s)
      return i;
  return trials.size();
}

std::string gain(const Trial& from, const Trial& to) {
  if (!to.fits()) return "it does not fit: " + to.reason;
  const double share = to.result->tokens_per_s / from.result->tokens_per_s - 1;
  return fmt::format("{:+.1f} % tokens/s", 100 * share);
}

void plan_drives(const Options& options) {
  const description::Scenario scenario = read(options.scenario, options.overrides).scenario;
  const std::string name = drives_of(scenario);
  std::vector<Trial> trials;
  for (std::uint64_t count = 1; count <= options.most; ++count)
    trials.push_back({fmt::format("{} of {}", count, name),
                      {fmt::format("machine.storage.{}.count={}", name, count)},
                      std::nullopt,
                      ""});
  try_or_refuse(scenario, trials);
  const std::size_t index = enough(trials);
  const bool found = index < trials.size();
  if (options.json)
    return print_json({{"drives", found ? json(index + 1) : json()}, {"trials", all_json(trials)}});
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
  print_paragraph(text + " " + certainty(best));
}

void add_common(CLI::App& verb, Options& options) {
  verb.add_option("--machine", options.machine, "a name of scenarios/machines or a file")
      ->required();
  verb.add_option("--system", options.systems,
                  "only these systems; else all whose updates come in time")
      ->delimiter(',');
  verb.add_option("--precision", options.precision, "of the training");
  verb.add_option("--sequence", options.sequence, "tokens of a sample")->check(CLI::PositiveNumber);
}

void finish(CLI::App& verb, Options& options) {
  add_set(verb, options.overrides, "override one value of all that is tried");
  verb.add_flag("--json", options.json, "with the whole result of everything that was tried");
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("plan", "what to buy, and what to do with what one has");
  verb->require_subcommand(1);
  verb->footer("Example:\n  spillway plan drives scenarios/examples/lohan_13b_batch32.json");
  auto settings = std::make_shared<Options>(), largest = std::make_shared<Options>(),
       drives = std::make_shared<Options>();
  CLI::App* own =
      verb->add_subcommand("settings", "the best system and batch for a model and a box");
  own->add_option("--model", settings->model, "a name of models/library or a file")->required();
  add_common(*own, *settings);
  own->add_option("--out", settings->out, "where the best scenario is written");
  finish(*own, *settings);
  own->callback([settings] { plan_settings(*settings); });
  own = verb->add_subcommand("largest", "largest model, longest context, largest batch that fit");
  own->add_option("--model", largest->models, "models, the smallest first")
      ->delimiter(',')
      ->required();
  add_common(*own, *largest);
  finish(*own, *largest);
  own->callback([largest] { plan_largest(*largest); });
  own = verb->add_subcommand("drives", "how many drives are enough, and how long they last");
  own->add_option("scenario", drives->scenario, "what is trained on them")->required();
  own->add_option("--most", drives->most, "drives that are tried at most")
      ->check(CLI::PositiveNumber);
  finish(*own, *drives);
  own->callback([drives] { plan_drives(*drives); });
  add_plan_machine(*verb);
}

}  // namespace spillway::cli
