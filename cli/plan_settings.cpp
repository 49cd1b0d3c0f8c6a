#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "cli/plan_deepspeed.hpp"
#include "reports/human.hpp"

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
  scenarios::ExportOptions deepspeed;
};

/// Everything about one model.
struct Answer {
  std::string model;
  std::vector<Trial> trials;
  explore::TrialCounts counts;
  const Trial* best = nullptr;
  Configuration deepspeed;
};

/// Simulates what was left out as slower than the best, where it may be the fastest for DeepSpeed.
void try_deepspeed(const explore::Backend& backend, const json& base, Answer& answer) {
  const auto& known = answer.deepspeed.result;
  const double least = known ? known->tokens_per_s : 0;
  std::vector<Trial> open;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < answer.trials.size(); ++i) {
    const Trial& trial = answer.trials[i];
    if (!trial.ruled_out || trial.most_tokens_per_s.value_or(0) <= least) continue;
    if (!deepspeed_can(base, trial.overrides)) continue;
    open.push_back({trial.words, trial.overrides, std::nullopt, ""});
    of.push_back(i);
  }
  explore::TrialCounts counts;
  if (!open.empty()) try_fastest(backend, base, open, 1, counts);
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
    return split && trial.refused;
  });
}

Answer answer_for(const explore::Backend& backend, const Options& options,
                  const std::string& model) {
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
          try_fastest(backend, plan_base(options, model), answer.trials, 1, answer.counts))
    throw *wrong;
  drop_refused_splits(answer.trials);
  find_needs(backend, plan_base(options, model), answer.trials);
  answer.best = explore::fastest(answer.trials);
  for (Trial& trial : answer.trials)
    if (&trial == answer.best) add_range(options.run, *trial.result);
  answer.deepspeed = fastest_configuration(answer.trials, options.deepspeed);
  if (answer.best && answer.deepspeed.trial != answer.best) {
    try_deepspeed(backend, plan_base(options, model), answer);
    answer.deepspeed = fastest_configuration(answer.trials, options.deepspeed);
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

/// DeepSpeed's file is whole: it names the folder that it offloads to, if to any.
bool writes_configuration(const Answer& answer) {
  return answer.deepspeed.trial && !answer.deepspeed.exported.needs_nvme_path;
}

void write(const Options& options, const Answer& answer) {
  if (options.out.empty() || !answer.best) return;
  write_file(file_for(options, answer.model).string(),
             answer.best->result->scenario.dump(2) + "\n");
  if (writes_configuration(answer))
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
                        {"version", deepspeed.exported.version.text()},
                        {"tokens_per_s", deepspeed.result->tokens_per_s},
                        {"scenario", deepspeed.exported.scenario},
                        {"needs_nvme_path", deepspeed.exported.needs_nvme_path},
                        {"ds_config", deepspeed.exported.ds_config},
                        {"notes", deepspeed.exported.notes}};
  return out;
}

/// Where its file is, or why it is not.
std::string file_words(const Options& options, const Answer& answer) {
  if (options.out.empty()) return ".";
  if (writes_configuration(answer)) return ": " + config_for(options, answer.model).string() + ".";
  return "; its file is not written, as it needs --nvme-path, the folder on the drives.";
}

/// Whether DeepSpeed can run the answer, and how fast what it can run is there.
std::string deepspeed_words(const Options& options, const Answer& answer) {
  const Configuration& deepspeed = answer.deepspeed;
  if (!deepspeed.trial) return "DeepSpeed can run nothing that fits: " + deepspeed.refusal + ".";
  const std::string version = "DeepSpeed " + deepspeed.exported.version.text();
  const std::string speed = reports::human_number(deepspeed.result->tokens_per_s) + " tokens/s";
  std::string text =
      deepspeed.trial == answer.best
          ? fmt::format("{} can run it, at {}", version, speed)
          : fmt::format("DeepSpeed cannot run it ({}). The fastest that {} can is {}: {}",
                        deepspeed.refusal, version, deepspeed.trial->words, speed);
  text += file_words(options, answer);
  if (!deepspeed.exported.notes.empty())
    text += fmt::format(" {}.", fmt::join(deepspeed.exported.notes, "; "));
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
  const auto ruled_out = [](const Trial& trial) { return trial.ruled_out; };
  const auto more = std::count_if(answer.trials.begin(), answer.trials.end(), ruled_out) -
                    std::count_if(shown.begin(), shown.end(), ruled_out);
  if (more > 0) print(fmt::format("{} more, ruled out by their bounds, are in --json.\n", more));
  print("\n");
  if (!answer.best) {
    print_paragraph(answer.model + " fits on this machine with none of them" +
                    (answer.counts.not_tried > 0 ? " that was tried." : "."));
    return print_paragraph(counts_words(answer.counts));
  }
  const result::Result& result = *answer.best->result;
  print_paragraph(
      fmt::format("{} on {} is fastest with {}: {}, {} tokens a step{}. {}", answer.model,
                  options.machine, answer.best->words, rate_words(result),
                  reports::human_number(result.tokens_per_s * result.step_time_s),
                  options.global_batch ? "" : " (--global-batch compares at one size of a step)",
                  counts_words(answer.counts)));
  print_around(options.run, result);
  print_paragraph(deepspeed_words(options, answer));
  print_paragraph(certainty(*answer.best->result));
}

void plan_settings(const Options& options) {
  std::vector<Answer> answers;
  answers.reserve(options.models.size());  // an answer points into itself
  Monitor monitor("settings", options.limit_s);
  const explore::Backend backend = monitor.backend();
  explore::TrialCounts counts;
  for (const std::string& model : options.models) {
    monitor.say("settings of " + model);
    answers.push_back(answer_for(backend, options, model));
    monitor.clear();
    Answer& answer = answers.back();
    counts.not_tried += answer.counts.not_tried;
    write(options, answer);
    if (options.json) continue;
    if (answers.size() > 1) print("\n");
    print_answer(options, answer);
  }
  if (!options.json) {
    if (options.out.empty())
      print("--out FILE writes the scenario, and DeepSpeed's configuration.\n");
    return finish(monitor, counts, options.json);
  }
  json all = json::array();
  for (const Answer& answer : answers) all.push_back(answer_json(answer));
  print_json(answers.size() == 1 ? all.front() : all);
  finish(monitor, counts, options.json);
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
  verb->add_option("--nvme-path", options->deepspeed.nvme_path,
                   "folder on the drives, for DeepSpeed's file");
  verb->add_option("--deepspeed", options->deepspeed.deepspeed,
                   "version of DeepSpeed, such as 0.18; default: the newest");
  add_plan_ending(*verb, *options);
  verb->footer(
      "Example:\n  spillway plan settings --model gpt2-xl --machine gaming_4090 --sequence 1024 "
      "--system zero_offload,zero_infinity");
  options->deepspeed.nearest = true;
  verb->callback([options] { plan_settings(*options); });
}

}  // namespace spillway::cli
