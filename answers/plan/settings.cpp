#include "answers/plan/settings.hpp"

#include "answers/fit/change.hpp"
#include "answers/plan/between.hpp"
#include "answers/plan/changed.hpp"
#include "answers/plan/deepspeed.hpp"
#include "answers/simulate/simulate.hpp"
#include "explore/outcome/started_today.hpp"
#include "explore/remedies/faster_settings.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <set>

namespace spillway::answers {

using answer::BestSettings;
using answer::Trial;
using explore::Way;
using nlohmann::json;

namespace {

/// Simulates what was left out as slower than the best, where it may be the fastest for DeepSpeed.
///   known  tokens per second of the fastest that DeepSpeed can run so far
void try_deepspeed(const explore::Backend& backend, const json& base, double known,
                   BestSettings& answer) {
  std::vector<Trial> open;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < answer.trials.size(); ++i) {
    const Trial& trial = answer.trials[i];
    if (!trial.ruled_out || trial.most_tokens_per_s.value_or(0) <= known) continue;
    if (!deepspeed_can(base, trial.overrides)) continue;
    open.push_back({trial.words, trial.overrides, std::nullopt, ""});
    of.push_back(i);
  }
  answer::TrialCounts counts;
  if (!open.empty()) try_fastest(backend, base, open, 1, counts);
  for (std::size_t i = 0; i < open.size(); ++i)
    if (open[i].result) answer.trials[of[i]] = std::move(open[i]);
  answer.counts.ruled_out -= counts.simulated;
  answer.counts.simulated += counts.simulated;
  answer.counts.unanswered += counts.unanswered;
}

/// Splits that a system cannot do say nothing.
void drop_refused_splits(std::vector<Trial>& trials) {
  std::erase_if(trials, [](const Trial& trial) {
    const bool split = trial.words.find(", tensor ") != std::string::npos ||
                       trial.words.find(", pipeline ") != std::string::npos ||
                       trial.words.find(", expert ") != std::string::npos;
    return split && trial.refused;
  });
}

/// Of what a system's own search chooses the fastest stays, where that is faster than the system as
/// it stands.
void drop_other_choices(std::vector<Trial>& trials) {
  for (const strategies::System& system : strategies::catalogue()) {
    std::set<std::string> chosen;
    for (const Way& way : explore::chosen_ways(system)) chosen.insert(way.overrides.front());
    if (chosen.empty()) continue;
    std::string kept;
    double most = 0;
    const std::string own = explore::started_today(system);
    for (const Trial& trial : trials) {
      const std::string& way = trial.overrides.front();
      if (!trial.fits() || (way != own && !chosen.contains(way))) continue;
      if (trial.result->tokens_per_s <= most) continue;
      most = trial.result->tokens_per_s;
      kept = way;
    }
    std::erase_if(trials, [&](const Trial& trial) {
      const std::string& way = trial.overrides.front();
      return chosen.contains(way) && way != kept;
    });
  }
}

/// Every way on every split of the cards and of the samples.
///   with  what else is set, for the words: ", training.loss fused"
std::vector<Trial> trials_of(const PlanQuestion& question, const std::string& model,
                             const std::string& with = "") {
  std::vector<Trial> trials;
  const std::vector<Split> splits = splits_of(question);
  const json base = plan_base(question, model);
  for (const Way& way : runnable_ways(question, base, question.overrides))
    for (const Split& split : splits) {
      if (!may_run(question, base, way, split.overrides, question.overrides)) continue;
      for (const BatchSplit& batch : batches_of(question, split.data)) {
        Trial& trial = trials.emplace_back();
        trial.words = way.name + with + split.name + batch.name;
        trial.overrides = way.overrides;
        for (const auto* more : {&split.overrides, &batch.overrides})
          trial.overrides.insert(trial.overrides.end(), more->begin(), more->end());
      }
    }
  if (trials.empty())
    throw description::ScenarioError(
        {{"command line", 0, 0, "--global-batch",
          fmt::format("no split makes {} samples", question.global_batch),
          "take a multiple of the cards"}});
  add_overrides(trials, question);
  return trials;
}

/// It fits, or is left out for its speed alone.
bool may_have_room(const Trial& trial) {
  return trial.fits() || (trial.ruled_out && !trial.times_too_large);
}

/// Of DeepSpeed's ways that have no room: adds those with smaller gradients that have.
void add_smaller(const explore::Backend& backend, const PlanQuestion& question, const json& base,
                 BestSettings& answer) {
  const auto way_of = [](const Trial& trial) {
    return trial.words.substr(0, trial.words.find(", micro-batch"));
  };
  std::set<std::string> have_room;
  for (const Trial& trial : answer.trials)
    if (may_have_room(trial)) have_room.insert(way_of(trial));
  std::vector<Trial> without;
  for (const Trial& trial : answer.trials)
    if (!have_room.contains(way_of(trial)))
      without.push_back({trial.words, trial.overrides, std::nullopt, ""});
  std::vector<Trial> trials = with_less_memory(question, base, without);
  if (trials.empty()) return;
  try_fastest(backend, base, trials, 1, answer.counts);
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(answer.trials), may_have_room);
}

/// Where nothing has room: adds the trials of the first round of settings that cost nothing in
/// which one has.
void add_changed(const explore::Backend& backend, const PlanQuestion& question, const json& base,
                 BestSettings& answer) {
  if (explore::fastest(answer.trials)) return;
  const TrialsOf with = [&](const PlanQuestion& changed, const std::string& words) {
    return trials_of(changed, answer.model, words);
  };
  for (std::vector<Trial>& trials : changed_trials(question, base, answer.trials, with)) {
    if (!backend.goes_on()) return;
    try_fastest(backend, base, trials, 1, answer.counts);
    if (!explore::fastest(trials)) continue;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(answer.trials), may_have_room);
    return;
  }
}

/// The fastest that DeepSpeed can run.
void add_deepspeed(const explore::Backend& backend, const json& base,
                   const scenarios::ExportOptions& options, BestSettings& answer) {
  explore::Backend patient = backend;  // what was found is to be whole, whatever ended the search
  patient.watch = {};
  Configuration found = fastest_configuration(patient, answer.trials, options);
  const Trial* best = answer.best_trial();
  if (best && found.trial != best) {
    try_deepspeed(backend, base, found.result ? found.result->tokens_per_s : 0, answer);
    found = fastest_configuration(patient, answer.trials, options);
  }
  answer.refusal = found.refusal;
  if (!found.trial) return;
  answer.deepspeed = {
      found.trial->words,         found.trial == best,     found.exported.version.text(),
      found.result->tokens_per_s, found.exported.scenario, found.exported.needs_nvme_path,
      found.exported.ds_config,   found.exported.notes};
}

/// What more samples a step bring the fastest that people can run.
void add_more_samples(const explore::Backend& backend, const Wishes& wishes, BestSettings& answer) {
  const result::Result* fastest = nullptr;
  for (const Trial& trial : answer.trials)
    if (trial.fits() && trial.result->runs_with && trial.result->runs_with->runnable &&
        (!fastest || trial.result->tokens_per_s > fastest->tokens_per_s))
      fastest = &*trial.result;
  if (!fastest) return;
  std::uint64_t simulated = 0;
  answer.more_samples = more_samples(backend, *fastest, wishes, simulated);
  answer.counts.simulated += simulated;
}

/// Settings that cost nothing beside the fastest.
void add_faster(const explore::Backend& backend, const json& base, BestSettings& answer) {
  const Trial* best = answer.best_trial();
  if (!best) return;
  const std::vector<scenarios::SystemInfo> systems = explore::known_systems();
  const explore::Resolve resolve = explore::resolving([&](const std::vector<std::string>& more) {
    std::vector<std::string> all = best->overrides;
    all.insert(all.end(), more.begin(), more.end());
    return scenarios::read_scenario(base, all, systems, scenarios::Refuse::what_cannot_run)
        .scenario;
  });
  answer.faster = explore::faster_settings(backend, *best->result, resolve);
}

}  // namespace

BestSettings settings(const explore::Backend& backend, const PlanQuestion& question,
                      const std::string& model, const scenarios::ExportOptions& deepspeed) {
  const json base = plan_base(question, model);
  BestSettings answer;
  answer.model = model;
  answer.trials = trials_of(question, model);
  if (const auto wrong = try_fastest(backend, base, answer.trials, 1, answer.counts)) throw *wrong;
  add_smaller(backend, question, base, answer);
  add_changed(backend, question, base, answer);
  if (question.any_batch()) try_between(backend, base, answer.trials, answer.counts);
  drop_refused_splits(answer.trials);
  drop_other_choices(answer.trials);
  find_needs(backend, base, answer.trials);
  if (const Trial* best = explore::fastest(answer.trials)) {
    answer.best = static_cast<std::uint64_t>(best - answer.trials.data());
    result::Result& result = *answer.trials[*answer.best].result;
    if (question.range) add_range(backend, result);
    answer.certainty = certainty_without_scenario(result, shown_by(question));
    date_prices(result, question.today);
    answer.old_prices = old_prices_of(result, question.today);
  }
  add_deepspeed(backend, base, deepspeed, answer);
  add_faster(backend, base, answer);
  if (question.one_micro_batch())
    add_more_samples(backend, {question.systems, question.overrides}, answer);
  return answer;
}

}  // namespace spillway::answers
