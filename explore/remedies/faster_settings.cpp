#include "explore/remedies/faster_settings.hpp"

#include "explore/remedies/changes.hpp"
#include "explore/remedies/free_settings.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <set>

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

using Overrides = std::vector<std::string>;  // each "path=value"

/// States on drives go to the host, weights to the host or to the GPU.
void add_nearer_homes(const Scenario& scenario, std::vector<Overrides>& changes) {
  const description::Strategy& parts = scenario.strategy;
  if (parts.optimizer.home == Home::ssd) {
    Overrides& states = changes.emplace_back(Overrides{"strategy.optimizer.home=host"});
    if (lie_on_storage(parts.gradients.policy))
      states.push_back("strategy.gradients.policy=host_fp32");
  }
  std::vector<Change> nearer;
  for (const Home home : {Home::host, Home::gpu}) add_nearer_weights(scenario, home, nearer);
  for (Change& change : nearer) changes.push_back(std::move(change.overrides));
}

/// The same samples a step in other passes.
Overrides in_passes(std::uint64_t micro_batch, std::uint64_t passes) {
  return {"training.micro_batch=" + std::to_string(micro_batch),
          "training.gradient_accumulation=" + std::to_string(passes)};
}

/// Checkpoints nearer to the GPU; nothing computed a second time, what is kept in host memory or on
/// the GPU, or the cheapest operators alone, for which smaller micro-batches may make room.
void add_less_recomputation(const Scenario& scenario, std::vector<Overrides>& changes) {
  using description::ActivationPolicy;
  const std::string policy = "strategy.activations.policy=";
  const ActivationPolicy now = scenario.strategy.activations.policy;
  if (now < ActivationPolicy::checkpoint_gpu || now > ActivationPolicy::checkpoint_ssd) return;
  if (now == ActivationPolicy::checkpoint_ssd) changes.push_back({policy + "checkpoint_host"});
  if (now != ActivationPolicy::checkpoint_gpu) changes.push_back({policy + "checkpoint_gpu"});
  changes.push_back({policy + "offload"});
  const std::uint64_t batch = scenario.training.micro_batch,
                      passes = scenario.training.gradient_accumulation;
  for (std::uint64_t parts = 1; parts <= batch; parts *= 2) {
    if (batch % parts != 0) break;
    Overrides keep{policy + "keep"};
    if (parts > 1)
      for (std::string& set : in_passes(batch / parts, passes * parts)) keep.push_back(set);
    changes.push_back(keep);
    keep.push_back(R"(training.recompute=["activation", "norm"])");
    changes.push_back(std::move(keep));
  }
}

void add_larger_batches(const Scenario& scenario, std::vector<Overrides>& changes) {
  const std::uint64_t batch = scenario.training.micro_batch,
                      passes = scenario.training.gradient_accumulation;
  for (std::uint64_t fewer = 1; fewer < passes; ++fewer)
    if (passes % fewer == 0) changes.push_back(in_passes(batch * (passes / fewer), fewer));
}

/// Weights, gradients or states that each rank has whole, so that ranks exchange less: FSDP's
/// SHARD_GRAD_OP, or DDP. DeepSpeed's lower stages overlap and accumulate otherwise too.
void add_lower_stages(const Scenario& scenario, std::vector<Overrides>& changes) {
  const strategies::System* system = strategies::find_system(scenario.strategy.system);
  if (scenario.parallel.replicas() == 1 || !scenario.strategy.preset.empty() || !system ||
      system->program != strategies::Program::trainer)
    return;
  for (std::uint64_t stage = 0; stage < scenario.parallel.zero_stage; ++stage)
    changes.push_back({"parallel.zero_stage=" + std::to_string(stage)});
}

/// Gradients are summed to the rank that updates them, not to all of them: half as much is sent.
void add_scattered_gradients(const Scenario& scenario, std::vector<Overrides>& changes) {
  if (scenario.parallel.replicas() == 1 || scenario.parallel.zero_stage != 1) return;
  changes.push_back({"parallel.zero_stage=2"});
  if (scenario.strategy.gradients.collective != description::GradientCollective::reduce_scatter)
    changes.push_back({"strategy.gradients.collective=reduce_scatter"});
}

/// What is fetched ahead of its use.
void add_prefetch(const Scenario& scenario, std::vector<Overrides>& changes) {
  const description::WeightsPart& weights = scenario.strategy.weights;
  if (weights.home != Home::gpu && weights.prefetch_blocks == 0)
    changes.push_back({"strategy.weights.prefetch_blocks=1"});
}

/// "path value and path value".
std::string words_of(const Overrides& overrides) {
  std::string words;
  for (const std::string& set : overrides) {
    const std::size_t end = set.find('=');
    words += (words.empty() ? "" : " and ") + set.substr(0, end) + " " + set.substr(end + 1);
  }
  return words;
}

/// The settings with some more, which take the place of those of the same name.
Trial with_more(Overrides settings, const Overrides& more) {
  std::erase_if(settings, [&](const std::string& set) {
    return name_path(more, set.substr(0, set.find('=')));
  });
  settings.insert(settings.end(), more.begin(), more.end());
  return {words_of(settings), std::move(settings), std::nullopt, ""};
}

/// What a scenario could have beside what it has, each alone.
std::vector<Overrides> changes_of(const Scenario& scenario, const result::Result& result) {
  std::vector<Overrides> changes;
  add_nearer_homes(scenario, changes);
  add_less_recomputation(scenario, changes);
  add_larger_batches(scenario, changes);
  add_lower_stages(scenario, changes);
  add_scattered_gradients(scenario, changes);
  add_prefetch(scenario, changes);
  std::vector<Change> shares;
  add_shares_of_update(scenario, shares);
  for (Change& share : shares) changes.push_back(std::move(share.overrides));
  // all of them stand among nearer homes
  for (FreeSettings& filled : weights_in_idle_host_of(result))
    changes.push_back(std::move(filled.overrides));
  return changes;
}

/// Each setting beside those that `base` has, once.
class FurtherSettings {
 public:
  FurtherSettings(const Backend& backend, const Resolve& resolve)
      : backend_(backend), resolve_(resolve) {}

  /// Settings beside those that `base` has, of which a run is known, and a fused loss; beside that
  /// also those that have no room without it. Bounds leave out what is no shorter step than `base`,
  /// and what came before is not tried again.
  std::vector<Trial> beside(const Overrides& base, const result::Result& run) {
    const Scenario scenario = scenario_of(run);
    const Effort effort{WhenFull::stop, true, false, run.tokens_per_s / worth};
    std::vector<Trial> trials, sparing;
    for (const Overrides& change : changes_of(scenario, run))
      add(with_more(base, change), name_path(change, "strategy.optimizer.home") ? sparing : trials);
    const std::vector<FreeSettings> fused = fused_of(scenario);
    for (const FreeSettings& one : fused) add(with_more(base, one.overrides), trials);
    simulate(trials, effort);
    std::vector<Trial> beside_fused;
    for (const Trial& trial : trials)
      if (trial.ruled_out || (trial.result && !trial.fits()))
        for (const FreeSettings& one : fused)
          add(with_more(trial.overrides, one.overrides), beside_fused);
    simulate(beside_fused, effort);
    simulate(sparing, {WhenFull::stop, true, false, run.tokens_per_s});
    for (const auto* more : {&beside_fused, &sparing})
      trials.insert(trials.end(), more->begin(), more->end());
    return trials;
  }

 private:
  void add(Trial trial, std::vector<Trial>& trials) {
    Overrides key = trial.overrides;
    std::sort(key.begin(), key.end());
    if (tried_.insert(std::move(key)).second) trials.push_back(std::move(trial));
  }

  /// Those that the scenario takes.
  void simulate(std::vector<Trial>& trials, const Effort& effort) const {
    std::vector<Scenario> scenarios;
    std::vector<Trial*> ready;
    for (Trial& trial : trials) {
      if (!backend_.goes_on()) return;
      auto scenario = resolve_(trial.overrides);
      if (!scenario) continue;
      scenario->run.steps = 1;  // equal steps repeat to 0.1 %
      scenarios.push_back(std::move(*scenario));
      ready.push_back(&trial);
    }
    std::vector<Outcome> outcomes = simulate_all(backend_, scenarios, 0, default_limit_s, effort);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      ready[i]->result = std::move(outcomes[i].result);
      ready[i]->ruled_out = outcomes[i].ruled_out;
    }
  }

  const Backend& backend_;
  const Resolve& resolve_;
  std::set<Overrides> tried_;
};

/// Drives take nothing any more, and a step is no longer.
bool spares_drives(const result::Result& then, const result::Result& now) {
  return now.io.ssd_write > 0 && then.io.ssd_write == 0 && then.step_time_s <= now.step_time_s;
}

/// Those that make a step shorter, or spare drives, and run with a program if the others do; the
/// shortest first.
std::vector<Trial> helpful(const std::vector<Trial>& trials, const result::Result& result) {
  const bool runnable = !result.runs_with || result.runs_with->runnable;
  std::vector<Trial> good;
  for (const Trial& trial : trials)
    if (trial.fits() &&
        (trial.result->step_time_s <= worth * result.step_time_s ||
         spares_drives(*trial.result, result)) &&
        (!runnable || trial.result->runs_with->runnable))
      good.push_back(trial);
  std::stable_sort(good.begin(), good.end(), [](const Trial& one, const Trial& other) {
    return one.result->step_time_s < other.result->step_time_s;
  });
  return good;
}

/// Whether both set the same value, or say where weights are.
bool share_a_path(const Trial& one, const Trial& other) {
  constexpr const char* homes[] = {"strategy.weights.home", "strategy.weights.max_in_host"};
  const auto moves_weights = [&](const Trial& trial) {
    return std::any_of(std::begin(homes), std::end(homes),
                       [&](const char* path) { return name_path(trial.overrides, path); });
  };
  if (moves_weights(one) && moves_weights(other)) return true;
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
Trial best_combination(const Backend& backend, FurtherSettings& further, Trial best) {
  for (std::size_t round = 1; round < most_combined && backend.goes_on(); ++round) {
    std::vector<Trial> better = helpful(further.beside(best.overrides, *best.result), *best.result);
    if (better.empty()) break;
    best = std::move(better.front());
  }
  return best;
}

}  // namespace

std::vector<FasterSettings> faster_settings(const Backend& backend, const result::Result& result,
                                            const Resolve& resolve) {
  if (!result.feasible() || result.io_bench.is_object()) return {};
  FurtherSettings further(backend, resolve);
  const std::vector<Trial> good = helpful(further.beside({}, result), result);
  if (good.empty()) return {};
  std::vector<Trial> said = without_alternatives(good);
  Trial best = best_combination(backend, further, good.front());
  if (best.overrides != good.front().overrides) said.insert(said.begin(), std::move(best));
  said.resize(std::min(said.size(), most_said));
  std::vector<FasterSettings> all;
  for (const Trial& trial : said)
    all.push_back({spares_drives(*trial.result, result)
                       ? trial.words + " (nothing is written to drives any more)"
                       : trial.words,
                   trial.overrides, trial.result->step_time_s, trial.result->tokens_per_s});
  return all;
}

}  // namespace spillway::explore
