#include "reports/answer/plan.hpp"

#include "reports/result/reading.hpp"

#include <tuple>

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;
using result::require_schema;

const Trial* Largest::largest() const {
  const Trial* found = nullptr;
  for (const Trial& trial : models)
    if (trial.fits()) found = &trial;
  return found;
}

const DriveClass* Drives::cheapest() const {
  const DriveClass* best = nullptr;
  for (const DriveClass& one : classes)
    if (one.drives && (!best || std::tuple(one.cost_usd(), *one.drives) <
                                    std::tuple(best->cost_usd(), *best->drives)))
      best = &one;
  return best;
}

bool Drives::lasts(const Trial& trial) const {
  if (years <= 0 || !trial.result->wear) return true;
  const result::Wear& wear = *trial.result->wear;
  return wear.lifetime_years ? *wear.lifetime_years >= years : wear.write_bytes_per_day == 0;
}

const Trial* Drives::longest_lasting() const {
  const Trial* best = nullptr;
  for (const DriveClass& one : classes)
    for (const Trial& trial : one.trials) {
      if (!trial.fits() || !trial.result->wear || !trial.result->wear->lifetime_years) continue;
      if (!best || *trial.result->wear->lifetime_years > *best->result->wear->lifetime_years)
        best = &trial;
    }
  return best;
}

void to_json(json& out, const Largest& largest) {
  out = {{"schema", "spillway/answer/largest/1"},
         {"model", nullptr},
         {"system", nullptr},
         {"context", largest.context},
         {"models", largest.models},
         {"contexts", largest.contexts},
         {"batches", largest.batches},
         {"counts", largest.counts},
         {"certainty", largest.certainty},
         {"old_prices", largest.old_prices}};
  if (!largest.model.empty()) out["model"] = largest.model;
  if (!largest.system.empty()) out["system"] = largest.system;
}

void from_json(const json& in, Largest& largest) {
  require_schema(in, "answer/largest");
  largest = {};
  read(in, "model", largest.model);
  read(in, "system", largest.system);
  read(in, "context", largest.context);
  read(in, "models", largest.models);
  read(in, "contexts", largest.contexts);
  read(in, "batches", largest.batches);
  read(in, "counts", largest.counts);
  read(in, "certainty", largest.certainty);
  read(in, "old_prices", largest.old_prices);
}

void to_json(json& out, const DriveClass& one) {
  out = {{"name", one.name},
         {"price_usd", one.price_usd},
         {"drives", or_null(one.drives)},
         {"trials", one.trials}};
}

void from_json(const json& in, DriveClass& one) {
  read(in, "name", one.name);
  read(in, "price_usd", one.price_usd);
  read(in, "trials", one.trials);
  read(in, "drives", one.drives);
  if (one.drives && (*one.drives == 0 || *one.drives > one.trials.size())) one.drives.reset();
}

void to_json(json& out, const Drives& drives) {
  const DriveClass* best = drives.cheapest();
  json trials = json::array();
  for (const DriveClass& one : drives.classes)
    for (const Trial& trial : one.trials) trials.push_back(trial);
  out = {{"schema", "spillway/answer/drives/1"},
         {"drives", best ? json(*best->drives) : json()},
         {"class", best ? json(best->name) : json()},
         {"years", drives.years},
         {"counts", drives.counts},
         {"trials", std::move(trials)},
         {"classes", drives.classes},
         {"result", or_null(drives.result)},
         {"certainty", drives.certainty},
         {"old_prices", drives.old_prices}};
  put(out, "notes", drives.notes);
}

void from_json(const json& in, Drives& drives) {
  require_schema(in, "answer/drives");
  drives = {};
  read(in, "years", drives.years);
  read(in, "counts", drives.counts);
  read(in, "classes", drives.classes);
  read(in, "result", drives.result);
  read(in, "notes", drives.notes);
  read(in, "certainty", drives.certainty);
  read(in, "old_prices", drives.old_prices);
}

void to_json(json& out, const DeepSpeedChoice& choice) {
  out = {{"words", choice.words},        {"is_best", choice.is_best},
         {"version", choice.version},    {"tokens_per_s", choice.tokens_per_s},
         {"scenario", choice.scenario},  {"needs_nvme_path", choice.needs_nvme_path},
         {"ds_config", choice.ds_config}};
  put(out, "notes", choice.notes);
}

void from_json(const json& in, DeepSpeedChoice& choice) {
  read(in, "words", choice.words);
  read(in, "is_best", choice.is_best);
  read(in, "version", choice.version);
  read(in, "tokens_per_s", choice.tokens_per_s);
  read(in, "scenario", choice.scenario);
  read(in, "needs_nvme_path", choice.needs_nvme_path);
  read(in, "ds_config", choice.ds_config);
  read(in, "notes", choice.notes);
}

void to_json(json& out, const BestSettings& settings) {
  const Trial* best = settings.best_trial();
  out = {{"schema", "spillway/answer/settings/1"},
         {"model", settings.model},
         {"best", best ? json(*best) : json()},
         {"best_trial", or_null(settings.best)},
         {"counts", settings.counts},
         {"trials", settings.trials},
         {"deepspeed", or_null(settings.deepspeed)},
         {"refusal", settings.refusal},
         {"more_samples", or_null(settings.more_samples)},
         {"faster", settings.faster},
         {"certainty", settings.certainty},
         {"old_prices", settings.old_prices}};
}

void from_json(const json& in, BestSettings& settings) {
  require_schema(in, "answer/settings");
  settings = {};
  read(in, "model", settings.model);
  read(in, "trials", settings.trials);
  read(in, "best_trial", settings.best);
  if (settings.best && *settings.best >= settings.trials.size()) settings.best.reset();
  read(in, "counts", settings.counts);
  read(in, "deepspeed", settings.deepspeed);
  read(in, "refusal", settings.refusal);
  read(in, "more_samples", settings.more_samples);
  read(in, "faster", settings.faster);
  read(in, "certainty", settings.certainty);
  read(in, "old_prices", settings.old_prices);
}

}  // namespace spillway::answer
