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
constexpr std::size_t most_combined = 6, most_said = 4;

/// "path value and path value" and the same as overrides.
Change change_of(const std::vector<std::pair<std::string, std::string>>& values) {
  Change change;
  for (const auto& [path, value] : values) {
    change.words += (change.words.empty() ? "" : " and ") + path + " " + value;
    change.overrides.push_back(path + "=" + value);
  }
  return change;
}

/// States on drives go to the host, weights to the host or to the GPU.
void add_nearer_homes(const Scenario& scenario, std::vector<Change>& changes) {
  const description::Strategy& parts = scenario.strategy;
  if (parts.optimizer.home == Home::ssd) {
    std::vector<std::pair<std::string, std::string>> states{{"strategy.optimizer.home", "host"}};
    if (lie_on_storage(parts.gradients.policy))
      states.emplace_back("strategy.gradients.policy", "host_fp32");
    changes.push_back(change_of(states));
  }
  for (const auto& [home, name] : {std::pair{Home::host, "host"}, std::pair{Home::gpu, "gpu"}}) {
    if (parts.weights.home == Home::gpu || parts.weights.home == home) continue;
    std::vector<std::pair<std::string, std::string>> weights{{"strategy.weights.home", name}};
    if (parts.weights.pool != description::PoolKind::none)
      weights.emplace_back("strategy.weights.pool", "none");  // one buffers what comes from drives
    changes.push_back(change_of(weights));
    if (home != Home::gpu || parts.optimizer.device != description::OptimizerDevice::cpu ||
        parts.weights.h2d == description::WeightCopy::typed)
      continue;
    weights.emplace_back("strategy.weights.h2d", "typed");  // as DeepSpeed copies what it updated
    changes.push_back(change_of(weights));
  }
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

/// What is fetched ahead of its use.
void add_prefetch(const Scenario& scenario, std::vector<Change>& changes) {
  const description::WeightsPart& weights = scenario.strategy.weights;
  if (weights.home != Home::gpu && weights.prefetch_blocks == 0)
    changes.push_back(change_of({{"strategy.weights.prefetch_blocks", "1"}}));
}

/// "path value and path value".
std::string words_of(const std::vector<std::string>& overrides) {
  std::string words;
  for (const std::string& set : overrides) {
    const std::size_t end = set.find('=');
    words += (words.empty() ? "" : " and ") + set.substr(0, end) + " " + set.substr(end + 1);
  }
  return words;
}

/// The settings with some more, which take the place of those of the same name.
Trial with_more(std::vector<std::string> settings, const std::vector<std::string>& more) {
  std::erase_if(settings, [&](const std::string& set) {
    return name_path(more, set.substr(0, set.find('=')));
  });
  settings.insert(settings.end(), more.begin(), more.end());
  return {words_of(settings), std::move(settings), std::nullopt, ""};
}

/// What a scenario could have beside what it has, each alone.
std::vector<Change> changes_of(const Scenario& scenario, const result::Result& result) {
  std::vector<Change> changes;
  add_nearer_homes(scenario, changes);
  add_less_recomputation(scenario, changes);
  add_larger_batches(scenario, changes);
  add_shares_of_update(scenario, changes);
  add_prefetch(scenario, changes);
  if (auto filled = idle_host_of(result))
    changes.push_back({std::move(filled->words), std::move(filled->overrides)});
  return changes;
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

/// Each setting beside those that `base` has, and a fused loss; beside that also those that have no
/// room without it.
std::vector<Trial> further(const Backend& backend, const Resolve& resolve,
                           const std::vector<std::string>& base, const result::Result& result) {
  const Scenario scenario = scenario_of(result);
  std::vector<Trial> trials;
  for (const Change& change : changes_of(scenario, result))
    trials.push_back(with_more(base, change.overrides));
  const auto fused = fused_of(scenario);
  if (fused) trials.push_back(with_more(base, fused->overrides));
  simulate_trials(backend, resolve, trials);
  if (!fused) return trials;
  std::vector<Trial> beside_fused;
  for (const Trial& trial : trials)
    if (trial.result && !trial.fits())
      beside_fused.push_back(with_more(trial.overrides, fused->overrides));
  simulate_trials(backend, resolve, beside_fused);
  trials.insert(trials.end(), beside_fused.begin(), beside_fused.end());
  return trials;
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

/// Of settings that exclude each other the best alone.
std::vector<Trial> without_alternatives(const std::vector<Trial>& good) {
  std::vector<Trial> best;
  for (const Trial& one : good)
    if (std::none_of(best.begin(), best.end(),
                     [&](const Trial& better) { return share_a_path(one, better); }))
      best.push_back(one);
  return best;
}

/// The best setting with others beside it, one at a time, as long as one makes a step shorter.
Trial best_combination(const Backend& backend, const Resolve& resolve, Trial best) {
  for (std::size_t round = 1; round < most_combined && backend.goes_on(); ++round) {
    std::vector<Trial> better =
        helpful(further(backend, resolve, best.overrides, *best.result), *best.result);
    if (better.empty()) break;
    best = std::move(better.front());
  }
  return best;
}

}  // namespace

std::vector<FasterSettings> faster_settings(const Backend& backend, const result::Result& result,
                                            const Resolve& resolve) {
  if (!result.feasible() || result.io_bench.is_object()) return {};
  const std::vector<Trial> good = helpful(further(backend, resolve, {}, result), result);
  if (good.empty()) return {};
  std::vector<Trial> said = without_alternatives(good);
  Trial best = best_combination(backend, resolve, good.front());
  if (best.overrides != good.front().overrides) said.insert(said.begin(), std::move(best));
  said.resize(std::min(said.size(), most_said));
  std::vector<FasterSettings> all;
  for (const Trial& trial : said)
    all.push_back(
        {trial.words, trial.overrides, trial.result->step_time_s, trial.result->tokens_per_s});
  return all;
}

}  // namespace spillway::explore
