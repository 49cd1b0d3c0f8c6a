#include "explore/remedies/planning.hpp"

#include "reports/result/what_if.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/read_machine.hpp"
#include "strategies/layout/prepared.hpp"
#include "strategies/machine/kernel_time.hpp"

#include <algorithm>

namespace spillway::explore {

namespace {

using description::Scenario;

void sustained_storage(Scenario& scenario) {
  for (description::StorageSpec& storage : scenario.machine.storage) storage.slc_cache.reset();
}

/// One drive more. A cap that binds stays: the controller or link behind it does not grow with the
/// drives.
void add_drive(description::StorageSpec& storage) {
  const auto drives = static_cast<double>(storage.count);
  if (storage.array_read && *storage.array_read >= storage.read * drives)
    storage.array_read.reset();
  if (storage.array_write && *storage.array_write >= storage.write * drives)
    storage.array_write.reset();
  ++storage.count;
}

void raise_caps(description::StorageSpec& storage) {
  for (auto* rate : {&storage.array_read, &storage.array_write})
    if (*rate) *rate = **rate * 2;
}

/// Of what other computers have: how many drives are behind it is not known.
void make_faster(description::StorageSpec& storage) {
  for (auto* rate : {&storage.read, &storage.write}) *rate = *rate * 2;
  raise_caps(storage);
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
text::Text full_lanes(const Scenario& before, const Scenario& after) {
  for (std::size_t i = 0; i < before.machine.storage.size(); ++i) {
    const description::StorageSpec& old = before.machine.storage[i];
    const description::StorageSpec& fresh = after.machine.storage[i];
    if (fresh.count == old.count) continue;
    if (fresh.total_read().value() > old.total_read().value() ||
        fresh.total_write().value() > old.total_write().value())
      return "";
    return text::filled("its lanes are full: {} reach the {} and {} of the array",
                        {text::count(old.count), text::rate(old.total_read().value()),
                         text::rate(old.total_write().value())});
  }
  return "";
}

/// Why one drive more does not go into the box: "the board has 4 M.2 slots, 5 are asked for".
std::string full_board(const Scenario& before, const Scenario& after) {
  const auto complaints_of = [](const Scenario& scenario) {
    return scenarios::check_machine(scenarios::located_at(nlohmann::json(scenario.machine), {}));
  };
  for (std::size_t i = 0; i < before.machine.storage.size(); ++i)
    if (after.machine.storage[i].count != before.machine.storage[i].count) {
      const auto complaints = complaints_of(after);
      return complaints.empty() || !complaints_of(before).empty() ? "" : complaints.front().message;
    }
  return "";
}

void faster_pcie(Scenario& scenario) {
  description::PcieSpec& pcie = scenario.machine.pcie;
  // pageable copies go by way of the driver's own memory, which a faster link does not fill faster
  for (auto* rate : {&pcie.h2d, &pcie.d2h}) *rate = *rate * 2;
  if (pcie.link) pcie.link = *pcie.link * 2;
}

void faster_cpu(Scenario& scenario) {
  description::HostSpec& host = scenario.machine.host;
  host.adam = host.adam * 2;
  if (host.lion) host.lion = *host.lion * 2;
  for (auto* rate : {&host.convert, &host.check_chained, &host.check_fused}) *rate = *rate * 2;
  for (auto& [type, rate] : host.compute) rate = rate * 2;
}

void faster_launches(Scenario& scenario) {
  description::HostSpec& host = scenario.machine.host;
  host.launch = description::Seconds(host.launch.value() / 2);
  host.module_hooks = description::Seconds(host.module_hooks.value() / 2);
}

void faster_host_memory(Scenario& scenario) {
  scenario.machine.host.memory_rate = scenario.machine.host.memory_rate * 2;
}

void faster_page_cache(Scenario& scenario) {
  scenario.machine.host.page_cache = scenario.machine.host.page_cache * 2;
}

void faster_gpu(Scenario& scenario) {
  description::GpuSpec& gpu = scenario.machine.gpu;
  for (auto* rates : {&gpu.compute, &gpu.attention})
    for (auto& [type, rate] : *rates) rate = rate * 2;
  gpu.memory_rate = gpu.memory_rate * 2;
  for (auto* rate : {&gpu.reduction, &gpu.permute})
    if (*rate) *rate = **rate * 2;
}

/// Where a cap binds what several drives reach together: one more brings nothing.
void faster_arrays(Scenario& scenario) {
  for (description::StorageSpec& storage : scenario.machine.storage) raise_caps(storage);
}

/// One more drive reads and writes no faster than those that are there.
bool array_is_full(const Scenario& before, std::size_t storage) {
  Scenario after = before;
  add_drive(after.machine.storage[storage]);
  return !full_lanes(before, after).empty();
}

void faster_peers(Scenario& scenario) {
  description::MachineFile& machine = scenario.machine;
  for (auto* rate :
       {&machine.gpu.peer_rate, &machine.network.intra_node_per_gpu, &machine.host.socket_rate})
    if (*rate) *rate = **rate * 2;
}

void faster_network(Scenario& scenario) {
  scenario.machine.network.per_gpu = scenario.machine.network.per_gpu * 2;
}

/// Asks for the program, which takes long, only where a launch takes time.
bool waits_for_launches(const Scenario& scenario) {
  strategies::LoggedKernel first_of_module{};
  first_of_module.in_pass = first_of_module.module = true;
  return strategies::launching_seconds(first_of_module, scenario) > 0 &&
         strategies::launches_hold_up(strategies::prepare(scenario).program, scenario);
}

/// What-ifs by name, and what each changes.
using Steps = std::vector<std::pair<std::string, std::function<void(Scenario&)>>>;

/// Those about drives and other storage.
void add_storages(const Scenario& scenario, Steps& steps) {
  using description::StorageKind;
  const auto& storages = scenario.machine.storage;
  const auto has_drives = [](const auto& one) { return one.kind == StorageKind::ssd; };
  const bool several = std::count_if(storages.begin(), storages.end(), has_drives) > 1;
  bool full = false;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (!has_drives(storages[i])) {
      steps.emplace_back(result::twice_the_rate_of + storages[i].name,
                         [i](Scenario& changed) { make_faster(changed.machine.storage[i]); });
      continue;
    }
    steps.emplace_back(result::one_more_drive + (several ? " of " + storages[i].name : ""),
                       [i](Scenario& changed) { add_drive(changed.machine.storage[i]); });
    full = full || array_is_full(scenario, i);
  }
  if (full) steps.emplace_back("twice the array rate", faster_arrays);
  if (std::any_of(storages.begin(), storages.end(), [](const auto& one) { return one.slc_cache; }))
    steps.emplace_back("drives that keep their write rate", sustained_storage);
  for (const std::string& name : slower_drives(scenario))
    steps.emplace_back(result::without + name, [name](Scenario& changed) {
      std::erase_if(changed.machine.storage, [&](const auto& one) { return one.name == name; });
    });
}

}  // namespace

Resolve resolving(std::function<Scenario(const std::vector<std::string>& overrides)> read) {
  return [read = std::move(read)](const std::vector<std::string>& more) -> std::optional<Scenario> {
    try {
      return read(more);
    } catch (const description::ScenarioError&) {
      return std::nullopt;  // this change does not go with the scenario; others may
    }
  };
}

std::map<std::string, result::WhatIf> what_next(const Backend& backend, const Scenario& scenario,
                                                const Effort& effort) {
  if (scenario.run.io_bench) return {};  // no step that could get shorter
  Steps steps = {
      {"twice the gpu rate", faster_gpu},
      {"twice the pcie rate", faster_pcie},
      {"twice the cpu rate", faster_cpu},
  };
  // most of what cores do while they train is limited by what DRAM gives them
  if (scenario.strategy.weights.experts_on_cpu() ||
      scenario.strategy.optimizer.device == description::OptimizerDevice::cpu)
    steps.emplace_back("twice the host memory rate", faster_host_memory);
  if (waits_for_launches(scenario))
    steps.emplace_back("twice the rate of launches", faster_launches);
  if (scenario.strategy.io_engine == description::IoEngine::buffered)
    steps.emplace_back("twice the page cache rate", faster_page_cache);
  add_storages(scenario, steps);
  if (scenario.node_ranks() > 1 &&
      (!scenario.machine.peers_use_pcie() || scenario.machine.host.socket_rate))
    steps.emplace_back("twice the gpu-to-gpu rate", faster_peers);
  if (scenario.nodes_in_use() > 1) steps.emplace_back("twice the network rate", faster_network);
  std::vector<Scenario> scenarios;
  for (const auto& [name, change] : steps) {
    change(scenarios.emplace_back(scenario));
    scenarios.back().run.steps = 1;  // equal steps repeat to 0.1 %
  }
  const std::vector<Outcome> outcomes =
      simulate_all(backend, scenarios, 0, default_limit_s, effort);
  std::map<std::string, result::WhatIf> next;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!outcomes[i].result) continue;
    result::WhatIf& answer = next[steps[i].first];
    const bool same_drives = scenarios[i].machine.storage.size() == scenario.machine.storage.size();
    if (same_drives) answer.why = full_board(scenario, scenarios[i]);
    if (same_drives && answer.why.empty()) answer.why = full_lanes(scenario, scenarios[i]);
    if (outcomes[i].result->feasible()) answer.step_time_s = outcomes[i].result->step_time_s;
  }
  return next;
}

result::Result with_what_ifs(const Backend& backend, result::Result result) {
  const Scenario scenario = scenario_of(result);
  result::add_what_ifs(result, what_next(backend, scenario));
  return result;
}

}  // namespace spillway::explore
