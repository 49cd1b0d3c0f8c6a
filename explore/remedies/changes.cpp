#include "explore/remedies/changes.hpp"

#include "explore/outcome/started_today.hpp"
#include "explore/remedies/free_settings.hpp"

namespace spillway::explore {

using description::ActivationPolicy;
using description::Scenario;

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

void add_fused(const Scenario& scenario, std::vector<Change>& changes) {
  for (FreeSettings& fused : fused_of(scenario))
    changes.push_back({std::move(fused.words), std::move(fused.overrides)});
}

/// Less of what backward reads on the GPU: what is cheap to compute again is, or waits in host
/// memory; then all of a block.
void add_checkpointing(const Scenario& scenario, std::vector<Change>& changes) {
  const ActivationPolicy policy = scenario.strategy.activations.policy;
  if (policy == ActivationPolicy::keep && scenario.training.recompute == description::Recompute())
    changes.push_back({R"(training.recompute ["activation", "norm"])",
                       {R"(training.recompute=["activation", "norm"])"}});
  for (const auto& [stronger, name] :
       {std::pair{ActivationPolicy::offload, "offload"},
        std::pair{ActivationPolicy::checkpoint_gpu, "checkpoint_gpu"},
        std::pair{ActivationPolicy::checkpoint_host, "checkpoint_host"}})
    if (policy < stronger)
      changes.push_back({std::string("strategy.activations.policy ") + name,
                         {std::string("strategy.activations.policy=") + name}});
}

/// Whether ranks hold copies of what ZeRO could share among them.
bool could_share(const Scenario& scenario) {
  return scenario.parallel.replicas() > 1 && scenario.parallel.pipeline == 1 &&
         scenario.parallel.zero_stage < 3;
}

/// What DeepSpeed's stage 3 does in another way than its stages 1 and 2.
///   Source  scenarios/deepspeed/import_zero.cpp, of a configuration with "stage": 3
void add_parts_of_stage_3(const Scenario& scenario, std::vector<std::string>& overrides) {
  const description::Strategy& parts = scenario.strategy;
  if (!parts.preset.starts_with("deepspeed")) return;
  const auto set = [&](bool other, const char* path_and_value) {
    if (other) overrides.push_back(std::string("strategy.") + path_and_value);
  };
  set(parts.overflow_check == description::OverflowCheck::fused, "overflow_check=chained");
  set(!parts.weights.hooks, "weights.hooks=true");
  set(parts.gradients.collective.has_value(), "gradients.collective=reduce_scatter");
  set(parts.optimizer.subgroup.value() > 1'000'000'000, "optimizer.subgroup=1e9 params");
  const bool narrowed = parts.weights.home == description::Home::gpu &&
                        parts.optimizer.device == description::OptimizerDevice::cpu &&
                        is_mixed(scenario.training.precision) &&
                        scenario.training.optimizer_state == description::StateWidth::fp32;
  set(narrowed, "weights.h2d=typed");
}

void add_zero_stages(const Scenario& scenario, std::vector<Change>& changes) {
  if (!could_share(scenario)) return;
  for (std::uint64_t stage = scenario.parallel.zero_stage + 1; stage <= 3; ++stage) {
    Change& change = changes.emplace_back(
        Change{"parallel.zero_stage " + number(stage), {"parallel.zero_stage=" + number(stage)}});
    if (stage == 3) add_parts_of_stage_3(scenario, change.overrides);
  }
}

/// Tensor ranks hold whole hidden states that each could have a share of.
///   Source  Korthikanti et al. (2022), arXiv:2205.05198, section 4.2.2
void add_sequence_parallel(const Scenario& scenario, std::vector<Change>& changes) {
  if (scenario.parallel.tensor > 1 && !scenario.parallel.sequence_parallel)
    changes.push_back({"parallel.sequence_parallel true", {"parallel.sequence_parallel=true"}});
}

/// Both, the second applied after the first.
Change beside(const Change& one, const Change& other) {
  Change both{one.words + " and " + other.words, one.overrides};
  both.overrides.insert(both.overrides.end(), other.overrides.begin(), other.overrides.end());
  return both;
}

/// Stages of equally many layers in place of equal work: the first, which holds the activations of
/// most micro-batches, has fewer of them where the head counts as work.
void add_pipeline_cut(const Scenario& scenario, std::vector<Change>& changes) {
  if (scenario.parallel.pipeline > 1 &&
      scenario.parallel.pipeline_cut != description::PipelineCut::layers)
    changes.push_back({"parallel.pipeline_cut layers", {"parallel.pipeline_cut=layers"}});
}

/// Experts for which the CPU multiplies, or that are fetched alone, as all other weights; of a base
/// in few bits as modules of their own, which are quantised.
void add_usual_experts(const Scenario& scenario, std::vector<Change>& changes) {
  const auto where = scenario.strategy.weights.experts;
  if (!where || *where == description::ExpertPlace::as_others) return;
  Change usual{"strategy.weights.experts as_others", {"strategy.weights.experts=as_others"}};
  changes.push_back(usual);
  if (scenario.training.experts == description::ExpertLayout::stacked)
    changes.push_back(beside(usual, {"training.experts separate", {"training.experts=separate"}}));
}

/// What lies in host memory goes to drives that are there.
void add_drives(const Scenario& scenario, std::vector<Change>& changes) {
  const description::Strategy& parts = scenario.strategy;
  if (scenario.machine.storage.empty()) return;
  // DeepSpeed reads no block ahead into the few buffers that it has for weights from drives
  const bool ahead = parts.preset.starts_with("deepspeed") && parts.weights.prefetch_blocks > 0;
  Change weights{"strategy.weights.home ssd", {"strategy.weights.home=ssd"}};
  if (ahead)
    weights = beside(
        weights, {"strategy.weights.prefetch_blocks 0", {"strategy.weights.prefetch_blocks=0"}});
  const Change states{"strategy.optimizer.home ssd", {"strategy.optimizer.home=ssd"}};
  const bool weights_in_host = parts.weights.home == description::Home::host,
             states_in_host = parts.optimizer.device == description::OptimizerDevice::cpu &&
                              parts.optimizer.home == description::Home::host;
  if (weights_in_host) changes.push_back(weights);
  if (states_in_host) changes.push_back(states);
  if (weights_in_host && states_in_host) changes.push_back(beside(weights, states));
}

void add_free(std::optional<FreeSettings> free, std::vector<Change>& changes) {
  if (free) changes.push_back({std::move(free->words), std::move(free->overrides)});
}

void add_smaller_subgroups(const Scenario& scenario, std::vector<Change>& changes) {
  if (scenario.strategy.optimizer.device == description::OptimizerDevice::gpu) return;
  const std::uint64_t size = scenario.strategy.optimizer.subgroup.value();
  for (const std::uint64_t divisor : {2, 10, 100}) {
    const std::string smaller = number(size / divisor) + " params";
    if (size / divisor >= 1'000'000)
      changes.push_back({"strategy.optimizer.subgroup \"" + smaller + "\"",
                         {"strategy.optimizer.subgroup=\"" + smaller + "\""}});
  }
}

/// What another system does without: "in place of zero_infinity with preset deepspeed_0.16".
std::string in_place_of(const Scenario& scenario) {
  const description::Strategy& parts = scenario.strategy;
  return " in place of " + parts.system +
         (parts.preset.empty() ? "" : " with preset " + parts.preset) +
         ", with that system's own parts";
}

}  // namespace

std::vector<Change> Settings::all() const {
  std::vector<Change> all = updates;
  for (const auto* more : {&passes, &fused}) all.insert(all.end(), more->begin(), more->end());
  return all;
}

std::vector<Change> Settings::with(const std::vector<Change>& batches) const {
  std::vector<Change> more = all();
  more.insert(more.end(), batches.begin(), batches.end());
  return more;
}

Settings settings_of(const Scenario& scenario) {
  Settings settings;
  add_smaller_subgroups(scenario, settings.updates);
  add_shares_of_update(scenario, settings.updates);
  add_drives(scenario, settings.updates);
  add_nearer_weights(scenario, description::Home::gpu, settings.updates);
  add_usual_experts(scenario, settings.updates);
  add_free(pageable_gradients_of(scenario), settings.passes);
  add_free(narrow_gradients_of(scenario), settings.passes);
  add_checkpointing(scenario, settings.passes);
  add_sequence_parallel(scenario, settings.passes);
  add_pipeline_cut(scenario, settings.passes);
  add_zero_stages(scenario, settings.passes);
  add_fused(scenario, settings.fused);
  return settings;
}

void add_nearer_weights(const Scenario& scenario, description::Home home,
                        std::vector<Change>& changes) {
  using description::Home;
  const description::WeightsPart& weights = scenario.strategy.weights;
  if (weights.home == Home::gpu || weights.home == home) return;
  const std::string name = home == Home::gpu ? "gpu" : "host";
  Change nearer{"strategy.weights.home " + name, {"strategy.weights.home=" + name}};
  if (weights.pool != description::PoolKind::none)  // one buffers what comes from drives
    nearer = beside(nearer, {"strategy.weights.pool none", {"strategy.weights.pool=none"}});
  changes.push_back(nearer);
  if (home == Home::gpu &&
      scenario.strategy.optimizer.device == description::OptimizerDevice::cpu &&
      weights.h2d != description::WeightCopy::typed)  // as DeepSpeed copies what it updated
    changes.push_back(
        beside(nearer, {"strategy.weights.h2d typed", {"strategy.weights.h2d=typed"}}));
}

void add_shares_of_update(const Scenario& scenario, std::vector<Change>& changes) {
  const description::OptimizerPart& part = scenario.strategy.optimizer;
  if (part.device != description::OptimizerDevice::cpu || part.home != description::Home::host)
    return;
  for (const auto& [share, written] :
       {std::pair{1.0, "1"}, std::pair{0.75, "0.75"}, std::pair{0.5, "0.5"},
        std::pair{0.25, "0.25"}, std::pair{0.0, "0"}})
    if (share != part.cpu_share)
      changes.push_back({std::string("strategy.optimizer.cpu_share ") + written,
                         {std::string("strategy.optimizer.cpu_share=") + written}});
}

void add_smaller_batches(const Scenario& scenario, std::uint64_t pieces,
                         std::vector<Change>& changes) {
  const std::uint64_t batch = scenario.training.micro_batch;
  for (std::uint64_t smaller = batch / 2; smaller >= 1; --smaller) {
    if (batch % smaller != 0) continue;
    if (batch / smaller > pieces) break;
    const std::uint64_t steps = scenario.training.gradient_accumulation * (batch / smaller);
    changes.push_back({"training.micro_batch " + number(smaller) +
                           " with training.gradient_accumulation " + number(steps),
                       {"training.micro_batch=" + number(smaller),
                        "training.gradient_accumulation=" + number(steps)}});
  }
}

void add_smaller_parts(const Scenario& scenario, std::vector<Change>& changes) {
  const description::Strategy& parts = scenario.strategy;
  Change all;
  const auto swap = [&](bool has, const char* path, const char* value) {
    if (!has) return;
    if (!all.words.empty()) all.words += ", ";
    all.words += std::string("strategy.") + path + " " + value;
    all.overrides.push_back(std::string("strategy.") + path + "=" + value);
  };
  swap(parts.pinned == description::PinnedPolicy::power_of_two, "pinned", "exact");
  if (all.overrides.size() == 1) changes.push_back(all);
  swap(parts.weights.pool == description::PoolKind::monolithic, "weights.pool", "adaptive");
  swap(parts.overflow_check == description::OverflowCheck::chained, "overflow_check", "fused");
  swap(parts.io_engine == description::IoEngine::file, "io_engine", "direct");
  if (all.overrides.size() > 1) changes.push_back(all);
}

void add_other_systems(const Scenario& scenario, bool (*taken)(const strategies::System&),
                       std::vector<Change>& changes) {
  for (const strategies::System& system : strategies::catalogue()) {
    if (scenario.strategy.system == system.name || system.defaults().optimizer.staleness != 0 ||
        !taken(system))
      continue;
    Change change{std::string("system ") + system.name + in_place_of(scenario),
                  {started_today(system)}};
    changes.push_back(change);
    if (!could_share(scenario)) continue;
    change.words += " and parallel.zero_stage 3";
    change.overrides.emplace_back("parallel.zero_stage=3");
    changes.push_back(std::move(change));
  }
}

void add_pairs(const std::vector<Change>& first, const std::vector<Change>& others,
               std::vector<Change>& pairs) {
  for (const Change& one : first)
    for (const Change& other : others) pairs.push_back(beside(one, other));
}

}  // namespace spillway::explore
