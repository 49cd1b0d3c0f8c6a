#include "answers/plan/largest.hpp"
#include "answers/plan/settings.hpp"
#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "reports/plan/plan_report.hpp"

#include <filesystem>
#include <memory>

namespace spillway::cli {

namespace {

struct SettingsOptions : PlanOptions {
  std::string out;
  scenarios::ExportOptions deepspeed;
};

/// `out`, with the model in its name where there are several.
std::filesystem::path file_for(const SettingsOptions& options, const std::string& model) {
  std::filesystem::path file = options.out;
  if (options.models.size() < 2) return file;
  const std::string stem = std::filesystem::path(model).stem().string();
  return file.replace_filename(file.stem().string() + "_" + stem + file.extension().string());
}
std::filesystem::path config_for(const SettingsOptions& options, const std::string& model) {
  return file_for(options, model).replace_extension(".ds_config.json");
}

/// DeepSpeed's file is whole: it names the folder that it offloads to, if to any.
bool writes_configuration(const answer::BestSettings& settings) {
  return settings.deepspeed && !settings.deepspeed->needs_nvme_path;
}

void write(const SettingsOptions& options, const answer::BestSettings& settings) {
  const answer::Trial* best = settings.best_trial();
  if (options.out.empty() || !best) return;
  std::vector<OutputFile> files{
      {file_for(options, settings.model).string(), scenario_text(best->result->scenario)}};
  if (writes_configuration(settings))
    files.push_back({config_for(options, settings.model).string(),
                     settings.deepspeed->ds_config.dump(2) + "\n"});
  write_files(files);
}

std::string report(const SettingsOptions& options, const answer::BestSettings& settings) {
  reports::SettingsWords words;
  words.machine = options.machine;
  if (!options.out.empty()) words.scenario_file = file_for(options, settings.model).string();
  words.one_batch = options.global_batch > 0;
  if (!options.out.empty() && writes_configuration(settings))
    words.deepspeed_file = config_for(options, settings.model).string();
  return reports::settings_report(settings, words, reports::screen_of(stdout));
}

void plan_settings(const SettingsOptions& options) {
  const answers::PlanQuestion question = question_of(options);
  for (const std::string& note : answers::notes_of_models(options.models)) warn(note);
  Monitor monitor("settings", options.limit_s);
  const explore::Backend backend = monitor.backend();
  answer::TrialCounts counts;
  bool any = false;
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& model : options.models) {
    monitor.say("settings of " + model);
    const answer::BestSettings found =
        answers::settings(backend, question, model, options.deepspeed);
    monitor.clear();
    counts.not_tried += found.counts.not_tried;
    any = any || found.best_trial();
    if (found.best_trial()) warn_of_prices(*found.best_trial()->result);
    write(options, found);
    if (options.json) {
      all.push_back(found);
      continue;
    }
    if (&model != &options.models.front()) print("\n");
    print(report(options, found));
  }
  if (options.json)
    print_json(all.size() == 1 ? all.front() : all);
  else if (options.out.empty())
    print("--out FILE writes the scenario, and DeepSpeed's configuration.\n");
  finish(monitor, counts, any, options.json);
}

}  // namespace

void add_plan_settings(CLI::App& plan) {
  auto options = std::make_shared<SettingsOptions>();
  CLI::App* verb =
      plan.add_subcommand("settings", "the best system and batch for a model and a box");
  verb->add_option("--model", options->models, "names of models/library or files")
      ->delimiter(',')
      ->required();
  add_plan_options(*verb, *options);
  add_batch_options(*verb, *options);
  verb->add_option("-o,--out", options->out,
                   "where the best scenario is written; beside it, as .ds_config.json, the fastest "
                   "that DeepSpeed can run");
  verb->add_option("--nvme-path", options->deepspeed.nvme_path,
                   "folder on the drives, for DeepSpeed's file");
  verb->add_option("--deepspeed", options->deepspeed.deepspeed,
                   "version of DeepSpeed, such as 0.18; default: the newest");
  add_shared_folders(*verb);
  add_plan_ending(*verb, *options);
  verb->footer(
      "Example:\n  spillway plan settings --model gpt2-xl --machine gaming_4090 --sequence 1024 "
      "--system zero_offload,zero_infinity");
  options->deepspeed.nearest = true;
  verb->callback([options] { plan_settings(*options); });
}

}  // namespace spillway::cli
