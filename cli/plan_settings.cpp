#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "reports/finished_run.hpp"
#include "reports/human.hpp"
#include "scenarios/export_deepspeed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

namespace spillway::cli {

using explore::Trial;
using nlohmann::json;

namespace {

struct Options : PlanOptions {
  std::string out;
};

/// A trial as a configuration of DeepSpeed.
struct Configuration {
  const Trial* trial = nullptr;  ///< nullptr: DeepSpeed can run none of those that fit
  scenarios::Exported exported;
  std::string refusal;  ///< why it is not the fastest one's
};

/// Everything about one model.
struct Answer {
  std::string model;
  std::vector<Trial> trials;
  explore::TrialCounts counts;
  const Trial* best = nullptr;
  Configuration deepspeed;
};

std::vector<const Trial*> fastest_first(const std::vector<Trial>& trials) {
  std::vector<const Trial*> fit;
  for (const Trial& trial : trials)
    if (trial.fits()) fit.push_back(&trial);
  std::stable_sort(fit.begin(), fit.end(), [](const Trial* a, const Trial* b) {
    return a->result->tokens_per_s > b->result->tokens_per_s;
  });
  return fit;
}

/// Of the fastest trial that DeepSpeed can run.
Configuration configure(const std::vector<Trial>& trials) {
  Configuration found;
  for (const Trial* trial : fastest_first(trials)) {
    try {
      found.exported = scenarios::export_deepspeed(
          scenarios::read_scenario(trial->result->scenario, {}, explore::known_systems()).scenario);
      found.trial = trial;
      return found;
    } catch (const description::ScenarioError& error) {
      const description::Complaint& first = error.complaints().front();
      if (found.refusal.empty()) found.refusal = first.path + ": " + first.message;
    }
  }
  return found;
}

bool deepspeed_can(const json& base, const Trial& trial) {
  try {
    scenarios::export_deepspeed(
        scenarios::read_scenario(base, trial.overrides, explore::known_systems()).scenario);
    return true;
  } catch (const description::ScenarioError&) {
    return false;
  }
}

/// Simulates what was left out as slower than the best, where it may be the fastest for DeepSpeed.
void try_deepspeed(const json& base, Answer& answer) {
  const Trial* known = answer.deepspeed.trial;
  const double least = known ? known->result->tokens_per_s : 0;
  std::vector<Trial> open;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < answer.trials.size(); ++i) {
    const Trial& trial = answer.trials[i];
    if (!trial.ruled_out || trial.most_tokens_per_s.value_or(0) <= least) continue;
    if (!deepspeed_can(base, trial)) continue;
    open.push_back({trial.words, trial.overrides, std::nullopt, ""});
    of.push_back(i);
  }
  explore::TrialCounts counts;
  if (!open.empty()) try_fastest(simulator(), base, open, 1, counts);
  for (std::size_t i = 0; i < open.size(); ++i)
    if (open[i].result) answer.trials[of[i]] = std::move(open[i]);
  answer.counts.ruled_out -= counts.simulated;
  answer.counts.simulated += counts.simulated;
}

/// Splits that a system cannot do say nothing.
void drop_refused_splits(std::vector<Trial>& trials) {
  std::erase_if(trials, [](const Trial& trial) {
    const bool split = trial.words.find(", tensor ") != std::string::npos ||
                       trial.words.find(", pipeline ") != std::string::npos;
    return split && !trial.result && !trial.ruled_out;
  });
}

Answer answer_for(const Options& options, const std::string& model) {
  Answer answer{model, {}, {}, nullptr, {}};
  for (const Way& way : runnable_ways(options, plan_base(options, model), options.overrides))
    for (const Split& split : splits_of(options))
      for (const BatchSplit& batch : batches_of(options, split.data)) {
        Trial& trial = answer.trials.emplace_back();
        trial.words = way.name + split.name + batch.name;
        trial.overrides = {way.overrides};
        for (const auto* more : {&split.overrides, &batch.overrides})
          trial.overrides.insert(trial.overrides.end(), more->begin(), more->end());
      }
  if (answer.trials.empty())
    refuse("--global-batch", fmt::format("no split makes {} samples", options.global_batch),
           "take a multiple of the cards");
  add_overrides(answer.trials, options);
  if (const auto wrong =
          try_fastest(simulator(), plan_base(options, model), answer.trials, 1, answer.counts))
    throw *wrong;
  drop_refused_splits(answer.trials);
  answer.best = explore::fastest(answer.trials);
  answer.deepspeed = configure(answer.trials);
  if (answer.best && answer.deepspeed.trial != answer.best) {
    try_deepspeed(plan_base(options, model), answer);
    answer.deepspeed = configure(answer.trials);
  }
  return answer;
}

/// `out`, with the model in its name where there are several.
std::filesystem::path file_for(const Options& options, const std::string& model) {
  std::filesystem::path file = options.out;
  if (options.models.size() < 2) return file;
  const std::string stem = std::filesystem::path(model).stem().string();
  return file.replace_filename(file.stem().string() + "_" + stem + file.extension().string());
}
std::filesystem::path config_for(const Options& options, const std::string& model) {
  return file_for(options, model).replace_extension(".ds_config.json");
}

void write(const Options& options, const Answer& answer) {
  if (options.out.empty() || !answer.best) return;
  write_file(file_for(options, answer.model).string(),
             answer.best->result->scenario.dump(2) + "\n");
  if (answer.deepspeed.trial)
    write_file(config_for(options, answer.model).string(),
               answer.deepspeed.exported.ds_config.dump(2) + "\n");
}

json answer_json(const Answer& answer) {
  const Configuration& deepspeed = answer.deepspeed;
  json out = {{"model", answer.model},
              {"best", answer.best ? trial_json(*answer.best) : json()},
              {"counts", counts_json(answer.counts)},
              {"trials", trials_json(answer.trials)},
              {"deepspeed", nullptr}};
  if (deepspeed.trial)
    out["deepspeed"] = {{"words", deepspeed.trial->words},
                        {"is_best", deepspeed.trial == answer.best},
                        {"ds_config", deepspeed.exported.ds_config},
                        {"notes", deepspeed.exported.notes}};
  return out;
}

/// Whether DeepSpeed can run the answer.
std::string deepspeed_words(const Options& options, const Answer& answer) {
  const Configuration& deepspeed = answer.deepspeed;
  if (!deepspeed.trial) return "DeepSpeed can run nothing that fits: " + deepspeed.refusal + ".";
  const std::string file =
      options.out.empty() ? "" : ": " + config_for(options, answer.model).string();
  std::string text = "DeepSpeed can run it" + file + ".";
  if (deepspeed.trial != answer.best)
    text =
        fmt::format("DeepSpeed cannot run it ({}). The fastest that it can is {}: {} tokens/s{}.",
                    deepspeed.refusal, deepspeed.trial->words,
                    reports::human_number(deepspeed.trial->result->tokens_per_s), file);
  if (!deepspeed.exported.notes.empty())
    text += fmt::format(" What differs there: {}.", fmt::join(deepspeed.exported.notes, "; "));
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

void print_answer(const Options& options, const Answer& answer) {
  const std::vector<Trial> shown = worth_a_look(answer.trials);
  print(evidence(shown));
  if (const std::size_t more = answer.trials.size() - shown.size())
    print(fmt::format("{} more, ruled out by their bounds, are in --json.\n", more));
  print("\n");
  if (!answer.best) {
    print_paragraph(answer.model + " fits on this machine with none of them.");
    return print_paragraph(counts_words(answer.counts));
  }
  const result::Result& result = *answer.best->result;
  print_paragraph(
      fmt::format("{} on {} is fastest with {}: {} tokens/s, {} tokens a step{}. {}", answer.model,
                  options.machine, answer.best->words, reports::human_number(result.tokens_per_s),
                  reports::human_number(result.tokens_per_s * result.step_time_s),
                  options.global_batch ? "" : " (--global-batch compares at one size of a step)",
                  counts_words(answer.counts)));
  if (result.run)
    print("\n" + reports::finished_run_report(result, reports::screen_of(stdout)) + "\n");
  print_paragraph(deepspeed_words(options, answer));
  print_paragraph(certainty(*answer.best->result));
}

void plan_settings(const Options& options) {
  std::vector<Answer> answers;
  answers.reserve(options.models.size());  // an answer points into itself
  for (const std::string& model : options.models) {
    answers.push_back(answer_for(options, model));
    Answer& answer = answers.back();
    write(options, answer);
    if (options.json) continue;
    if (answers.size() > 1) print("\n");
    print_answer(options, answer);
  }
  if (!options.json) {
    if (options.out.empty())
      print("--out FILE writes the scenario, and DeepSpeed's configuration.\n");
    return;
  }
  if (answers.size() == 1) return print_json(answer_json(answers.front()));
  json all = json::array();
  for (const Answer& answer : answers) all.push_back(answer_json(answer));
  print_json(all);
}

}  // namespace

void add_plan_settings(CLI::App& plan) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      plan.add_subcommand("settings", "the best system and batch for a model and a box");
  verb->add_option("--model", options->models, "names of models/library or files")
      ->delimiter(',')
      ->required();
  add_plan_options(*verb, *options);
  add_batch_options(*verb, *options);
  verb->add_option("--out", options->out,
                   "where the best scenario is written; beside it, as .ds_config.json, the fastest "
                   "that DeepSpeed can run");
  add_plan_ending(*verb, *options);
  verb->callback([options] { plan_settings(*options); });
}

}  // namespace spillway::cli
