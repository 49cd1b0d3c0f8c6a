#include "explore/planning.hpp"

#include "reports/result/what_if.hpp"
#include "scenarios/description/quantity.hpp"
#include "strategies/catalogue.hpp"

#include <algorithm>

namespace spillway::explore {

namespace {

using description::ActivationPolicy;
using description::Scenario;

struct Change {
  std::string words;
  std::vector<std::string> overrides;
};

void faster_storage(Scenario& scenario) {
  for (description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd) {
      // a cap that binds stays: the controller or link behind it does not grow with the drives
      const auto drives = static_cast<double>(storage.count);
      if (storage.array_read && *storage.array_read >= storage.read * drives)
        storage.array_read.reset();
      if (storage.array_write && *storage.array_write >= storage.write * drives)
        storage.array_write.reset();
      ++storage.count;
      return;
    }
}

/// Drives that write less than half as fast as others of the same stripe: each waits for them.
std::vector<std::string> slower_drives(const Scenario& scenario) {
  std::vector<std::string> names;
  if (!scenario.strategy.optimizer.paths.empty()) return names;  // who names drives wants them
  double fastest = 0;
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd)
      fastest = std::max(fastest, storage.total_write().value());
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd && storage.gpus.empty() &&
        2 * storage.total_write().value() < fastest)
      names.push_back(storage.name);
  return names;
}

/// Why one drive more changes nothing: what the drives there are reach together already.
std::string full_lanes(const Scenario& before, const Scenario& after) {
  for (std::size_t i = 0; i < before.machine.storage.size(); ++i) {
    const description::StorageSpec& old = before.machine.storage[i];
    const description::StorageSpec& fresh = after.machine.storage[i];
    if (fresh.count == old.count) continue;
    if (fresh.total_read().value() > old.total_read().value() ||
        fresh.total_write().value() > old.total_write().value())
      return "";
    const auto text = [](description::BytesPerSecond rate) { return description::to_text(rate); };
    return "its lanes are full: " + std::to_string(old.count) + " reach the " +
           text(old.total_read()) + " and " + text(old.total_write()) + " of the array";
  }
  return "";
}

void faster_pcie(Scenario& scenario) {
  description::PcieSpec& pcie = scenario.machine.pcie;
  for (auto* rate : {&pcie.h2d, &pcie.d2h, &pcie.pageable_h2d, &pcie.pageable_d2h})
    *rate = *rate * 2;
  if (pcie.link) pcie.link = *pcie.link * 2;
}

void faster_cpu(Scenario& scenario) {
  description::HostSpec& host = scenario.machine.host;
  host.adam = host.adam * 2;
  for (auto* rate : {&host.convert, &host.check_chained, &host.check_fused}) *rate = *rate * 2;
}

void faster_gpu(Scenario& scenario) {
  for (auto& [type, rate] : scenario.machine.gpu.compute) rate = rate * 2;
  scenario.machine.gpu.memory_rate = scenario.machine.gpu.memory_rate * 2;
}

void faster_network(Scenario& scenario) {
  scenario.machine.network.per_gpu = scenario.machine.network.per_gpu * 2;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

/// Pieces of a batch that a remedy of two changes tries at most: each costs a pass to simulate.
constexpr std::uint64_t most_pieces = 32;

/// The same global batch in smaller pieces, the largest first.
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

void add_checkpointing(const Scenario& scenario, std::vector<Change>& changes) {
  const ActivationPolicy policy = scenario.strategy.activations.policy;
  for (const auto& [stronger, name] :
       {std::pair{ActivationPolicy::checkpoint_gpu, "checkpoint_gpu"},
        std::pair{ActivationPolicy::checkpoint_host, "checkpoint_host"}})
    if (policy < stronger)
      changes.push_back({std::string("strategy.activations.policy ") + name,
                         {std::string("strategy.activations.policy=") + name}});
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

/// Not those whose updates come late: they train something else.
void add_other_systems(const Scenario& scenario, std::vector<Change>& changes) {
  for (const strategies::System& system : strategies::catalogue())
    if (scenario.strategy.system != system.name && system.defaults().optimizer.staleness == 0)
      changes.push_back({std::string("system ") + system.name,
                         {std::string("strategy={\"system\": \"") + system.name + "\"}"}});
}

std::optional<Remedy> best_of(const Backend& backend, const std::vector<Change>& changes,
                              const Resolve& resolve) {
  std::vector<Scenario> scenarios;
  std::vector<const Change*> tried;
  for (const Change& change : changes) {
    auto scenario = resolve(change.overrides);
    if (!scenario) continue;
    scenarios.push_back(std::move(*scenario));
    tried.push_back(&change);
  }
  const std::vector<Outcome> outcomes = simulate_all(backend, scenarios);
  std::optional<Remedy> best;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& result = outcomes[i].result;
    if (!result || !result->feasible()) continue;
    if (best && result->tokens_per_s <= best->result.tokens_per_s) continue;
    best = Remedy{tried[i]->words, tried[i]->overrides, *result};
  }
  return best;
}

/// The first of `batches`, the largest, that fits. Memory does not depend on how many pieces follow
/// the second one: only what fits is simulated with all of them.
std::optional<Remedy> largest_batch(const Backend& backend, const std::vector<Change>& batches,
                                    const Resolve& resolve) {
  for (const Change& change : batches) {
    auto trial = resolve(change.overrides);
    if (!trial) continue;
    std::uint64_t& pieces = trial->training.gradient_accumulation;
    pieces = std::min<std::uint64_t>(pieces, 2);
    const Outcome outcome = simulate_all(backend, std::span(&*trial, 1)).front();
    if (!outcome.result || !outcome.result->feasible()) continue;
    if (auto remedy = best_of(backend, {change}, resolve)) return remedy;
  }
  return std::nullopt;
}

std::vector<Change> pairs_of(const std::vector<std::vector<Change>>& kinds) {
  std::vector<Change> pairs;
  for (std::size_t a = 0; a < kinds.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (const Change& one : kinds[a])
        for (const Change& other : kinds[b]) {
          Change both{one.words + " and " + other.words, one.overrides};
          both.overrides.insert(both.overrides.end(), other.overrides.begin(),
                                other.overrides.end());
          pairs.push_back(std::move(both));
        }
  return pairs;
}

}  // namespace

std::map<std::string, result::WhatIf> what_next(const Backend& backend, const Scenario& scenario) {
  if (scenario.run.io_bench) return {};  // no step that could get shorter
  std::vector<std::pair<std::string, std::function<void(Scenario&)>>> steps = {
      {"twice the gpu rate", faster_gpu},
      {"twice the pcie rate", faster_pcie},
      {"twice the cpu rate", faster_cpu},
  };
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd) {
      steps.emplace_back("one more ssd", faster_storage);
      break;
    }
  for (const std::string& name : slower_drives(scenario))
    steps.emplace_back(result::without + name, [name](Scenario& changed) {
      std::erase_if(changed.machine.storage, [&](const auto& one) { return one.name == name; });
    });
  if (scenario.nodes_in_use() > 1) steps.emplace_back("twice the network rate", faster_network);
  std::vector<Scenario> scenarios;
  for (const auto& [name, change] : steps) {
    change(scenarios.emplace_back(scenario));
    scenarios.back().run.steps = 1;  // equal steps repeat to 0.1 %
  }
  const std::vector<Outcome> outcomes = simulate_all(backend, scenarios);
  std::map<std::string, result::WhatIf> next;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!outcomes[i].result) continue;
    result::WhatIf& answer = next[steps[i].first];
    answer.why = full_lanes(scenario, scenarios[i]);
    if (outcomes[i].result->feasible()) answer.step_time_s = outcomes[i].result->step_time_s;
  }
  return next;
}

std::optional<Remedy> cheapest_remedy(const Backend& backend, const Scenario& scenario,
                                      const Resolve& resolve) {
  // a pair applies the later kind first: the system replaces the whole strategy, the others parts
  // of it
  std::vector<std::vector<Change>> kinds(4);
  add_smaller_subgroups(scenario, kinds[0]);
  add_checkpointing(scenario, kinds[1]);
  add_other_systems(scenario, kinds[3]);
  std::vector<Change> single, batches;
  for (const auto& kind : kinds) single.insert(single.end(), kind.begin(), kind.end());
  add_smaller_batches(scenario, scenario.training.micro_batch, batches);
  std::optional<Remedy> best = best_of(backend, single, resolve);
  std::optional<Remedy> batch = largest_batch(backend, batches, resolve);
  if (!best || (batch && batch->result.tokens_per_s > best->result.tokens_per_s)) best = batch;
  if (best) return best;
  add_smaller_batches(scenario, most_pieces, kinds[2]);
  return best_of(backend, pairs_of(kinds), resolve);
}

}  // namespace spillway::explore
