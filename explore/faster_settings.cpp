#include "explore/faster_settings.hpp"

#include "explore/changes.hpp"
#include "explore/free_settings.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::explore {

using answer::FasterSettings;
using answer::Trial;
using description::Home;
using description::Scenario;

namespace {

/// A step that is so many times as long, at most, is worth another setting.
constexpr double worth = 0.98;
/// Settings that are combined, and said.
constexpr std::size_t most_combined = 4, most_said = 4;

/// "path value and path value" and the same as overrides.
Change change_of(const std::vector<std::pair<std::string, std::string>>& values) {
  Change change;
  for (const auto& [path, value] : values) {
    change.words += (change.words.empty() ? "" : " and ") + path + " " + value;
    change.overrides.push_back(path + "=" + value);
  }
  return change;
}

/// States on drives go to the host, weights to the GPU.
void add_nearer_homes(const Scenario& scenario, std::vector<Change>& changes) {
  const description::Strategy& parts = scenario.strategy;
  std::vector<std::pair<std::string, std::string>> states;
  if (parts.optimizer.home == Home::ssd) {
    states.emplace_back("strategy.optimizer.home", "host");
    if (lie_on_storage(parts.gradients.policy))
      states.emplace_back("strategy.gradients.policy", "host_fp32");
    changes.push_back(change_of(states));
  }
  if (parts.weights.home == Home::gpu) return;
  std::vector<std::pair<std::string, std::string>> weights{{"strategy.weights.home", "gpu"}};
  if (parts.weights.pool != description::PoolKind::none)
    weights.emplace_back("strategy.weights.pool", "none");  // one buffers what comes from drives
  changes.push_back(change_of(weights));
}

/// Checkpoints nearer to the GPU, or nothing computed a second time.
void add_less_recomputation(const Scenario& scenario, std::vector<Change>& changes) {
  using description::ActivationPolicy;
  const char* const path = "strategy.activations.policy";
  const ActivationPolicy now = scenario.strategy.activations.policy;
  const auto add = [&](const char* policy) { changes.push_back(change_of({{path, policy}})); };
  if (now == ActivationPolicy::checkpoint_ssd) add("checkpoint_host");
  if (now == ActivationPolicy::checkpoint_ssd || now == ActivationPolicy::checkpoint_host)
    add("checkpoint_gpu");
  if (now >= ActivationPolicy::checkpoint_gpu && now <= ActivationPolicy::checkpoint_ssd)
    add("keep");
}

/// The same samples a step in fewer passes.
void add_larger_batches(const Scenario& scenario, std::vector<Change>& changes) {
  const std::uint64_t batch = scenario.training.micro_batch,
                      passes = scenario.training.gradient_accumulation;
  for (std::uint64_t fewer = 1; fewer < passes; ++fewer)
    if (passes % fewer == 0)
      changes.push_back(
          change_of({{"training.micro_batch", std::to_string(batch * (passes / fewer))},
                     {"training.gradient_accumulation", std::to_string(fewer)}}));
}

void add_trial(const Change& change, std::vector<Trial>& trials) {
  trials.push_back({change.words, change.overrides, std::nullopt, ""});
}

std::vector<Trial> single_settings(const result::Result& result) {
  const Scenario scenario = scenario_of(result);
  std::vector<Change> changes;
  add_nearer_homes(scenario, changes);
  add_less_recomputation(scenario, changes);
  add_larger_batches(scenario, changes);
  add_shares_of_update(scenario, changes);
  if (const auto fused = fused_of(scenario))
    changes.push_back({fused->words + ", such as " + fused->such_as, fused->overrides});
  if (const auto filled = idle_host_of(result))
    changes.push_back({filled->words, filled->overrides});
  std::vector<Trial> trials;
  for (const Change& change : changes) add_trial(change, trials);
  return trials;
}

/// Simulates those that the scenario takes.
void simulate_trials(const Backend& backend, const Resolve& resolve, std::vector<Trial>& trials) {
  std::vector<Scenario> scenarios;
  std::vector<Trial*> ready;
  for (Trial& trial : trials) {
    if (!backend.goes_on()) return;
    auto scenario = resolve(trial.overrides);
    if (!scenario) continue;
    scenario->run.steps = 1;  // equal steps repeat to 0.1 %
    scenarios.push_back(std::move(*scenario));
    ready.push_back(&trial);
  }
  const std::vector<Outcome> outcomes = simulate_all(backend, scenarios);
  for (std::size_t i = 0; i < ready.size(); ++i) ready[i]->result = outcomes[i].result;
}

/// Those that make a step shorter and run with a program if the others do; the shortest first.
std::vector<Trial> helpful(const std::vector<Trial>& trials, const result::Result& result) {
  const bool runnable = !result.runs_with || result.runs_with->runnable;
  std::vector<Trial> good;
  for (const Trial& trial : trials)
    if (trial.fits() && trial.result->step_time_s <= worth * result.step_time_s &&
        (!runnable || trial.result->runs_with->runnable))
      good.push_back(trial);
  std::stable_sort(good.begin(), good.end(), [](const Trial& one, const Trial& other) {
    return one.result->step_time_s < other.result->step_time_s;
  });
  return good;
}

/// Whether both set the same value.
bool share_a_path(const Trial& one, const Trial& other) {
  return std::any_of(one.overrides.begin(), one.overrides.end(), [&](const std::string& set) {
    return name_path(other.overrides, set.substr(0, set.find('=')));
  });
}

Trial both(const Trial& one, const Trial& other) {
  Trial all{one.words + " and " + other.words, one.overrides, std::nullopt, ""};
  all.overrides.insert(all.overrides.end(), other.overrides.begin(), other.overrides.end());
  return all;
}

/// Of settings that exclude each other the best alone.
std::vector<Trial> without_alternatives(const std::vector<Trial>& good) {
  std::vector<Trial> best;
  for (const Trial& one : good)
    if (std::none_of(best.begin(), best.end(),
                     [&](const Trial& better) { return share_a_path(one, better); }))
      best.push_back(one);
  return best;
}

/// The best setting with others beside it, one at a time, as long as each makes a step shorter.
///   good  by themselves, the shortest step first
std::optional<Trial> best_combination(const Backend& backend, const Resolve& resolve,
                                      const std::vector<Trial>& good) {
  std::optional<Trial> best;
  for (std::size_t round = 1; round < most_combined && backend.goes_on(); ++round) {
    const Trial& base = best ? *best : good.front();
    std::vector<Trial> trials;
    for (const Trial& other : good)
      if (!share_a_path(base, other)) trials.push_back(both(base, other));
    if (trials.empty()) break;
    simulate_trials(backend, resolve, trials);
    const std::vector<Trial> better = helpful(trials, *base.result);
    if (better.empty()) break;
    best = better.front();
  }
  return best;
}

}  // namespace

std::vector<FasterSettings> faster_settings(const Backend& backend, const result::Result& result,
                                            const Resolve& resolve) {
  if (!result.feasible() || result.io_bench.is_object()) return {};
  std::vector<Trial> trials = single_settings(result);
  if (trials.empty()) return {};
  simulate_trials(backend, resolve, trials);
  const std::vector<Trial> good = helpful(trials, result);
  if (good.empty()) return {};
  std::vector<Trial> said = without_alternatives(good);
  if (auto best = best_combination(backend, resolve, good))
    said.insert(said.begin(), std::move(*best));
  said.resize(std::min(said.size(), most_said));
  std::vector<FasterSettings> all;
  for (const Trial& trial : said)
    all.push_back(
        {trial.words, trial.overrides, trial.result->step_time_s, trial.result->tokens_per_s});
  return all;
}

}  // namespace spillway::explore
