#include "explore/lower_plans.hpp"

#include <fmt/format.h>
#include <cmath>
#include <set>

namespace spillway::explore {

using description::ActivationPolicy;
using description::Bytes;
using description::Scenario;

namespace {

constexpr double gib = 1ull << 30;

/// The next lower of GiB times 2 to the power of n / steps, and lower by more than a thirtieth.
Bytes next_lower(Bytes memory, double steps) {
  const double own = 0.97 * static_cast<double>(memory.value()) / gib;
  return Bytes(
      static_cast<std::uint64_t>(gib * std::exp2(std::floor(std::log2(own) * steps) / steps)));
}

std::string in_gib(Bytes bytes) {
  return fmt::format("{:.3g} GiB", static_cast<double>(bytes.value()) / gib);
}

/// The scenario with one number of its machine changed.
template <class Change>
void add(const Scenario& scenario, const std::string& words, Change change,
         std::vector<LowerPlan>& plans) {
  LowerPlan& plan = plans.emplace_back(LowerPlan{words, scenario});
  change(plan.scenario.machine);
}

void add_gpu_memory(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  const Bytes memory = scenario.machine.gpu.memory;
  if (memory.value() == 0 || scenario.strategy.unlimited_gpu) return;
  const Bytes lower = next_lower(memory, 4);
  add(
      scenario, "planned for " + in_gib(lower) + " of GPU memory",
      [&](auto& machine) { machine.gpu.memory = lower; }, plans);
}

/// The next step, and one more to pass over a size at which nothing changes.
void add_host_memory(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  const Bytes memory = scenario.machine.host.memory;
  if (memory.value() == 0) return;
  const Bytes next = next_lower(memory, 1);
  for (const Bytes lower : {next, next_lower(next, 1)})
    add(
        scenario, "planned for " + in_gib(lower) + " of host memory",
        [&](auto& machine) { machine.host.memory = lower; }, plans);
}

/// What is fast can wait: the plan for slower kernels, at their pace.
void add_slower_gpu(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  add(
      scenario, "planned for half the rate of the GPU",
      [](auto& machine) {
        for (auto& [type, rate] : machine.gpu.compute) rate = rate * 0.5;
        machine.gpu.memory_rate = machine.gpu.memory_rate * 0.5;
      },
      plans);
}

/// Updates beside backward read and write states at once, which a drive does slower than one after
/// the other: a processor that waits between them can make the step shorter.
void add_slower_updates(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  for (const auto& [share, words] : {std::pair{0.5, "half"}, std::pair{0.25, "a quarter of"}})
    add(
        scenario, fmt::format("updates held to {} the rate of the processor", words),
        [share = share](auto& machine) {
          machine.host.adam = machine.host.adam * share;
          machine.host.convert = machine.host.convert * share;
        },
        plans);
}

bool has_drives(const Scenario& scenario) {
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd) return true;
  return false;
}

/// Who foresees what drives can take in time stores more on faster ones, and what it stores comes
/// back late where reads and writes meet.
void add_slower_drives(const Scenario& scenario, double share, const char* words,
                       std::vector<LowerPlan>& plans) {
  if (!has_drives(scenario)) return;
  add(
      scenario, fmt::format("planned for {} the rate of the drives", words),
      [share](auto& machine) {
        for (description::StorageSpec& storage : machine.storage) {
          if (storage.kind != description::StorageKind::ssd) continue;
          storage.read = storage.read * share;
          storage.write = storage.write * share;
          for (auto* array : {&storage.array_read, &storage.array_write})
            if (*array) *array = **array * share;
          if (storage.slc_cache)
            storage.slc_cache->folded_write = storage.slc_cache->folded_write * share;
        }
      },
      plans);
}

/// The first array of several drives, as the what-if of one more has it.
void add_fewer_drives(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  const auto& storages = scenario.machine.storage;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (storages[i].kind != description::StorageKind::ssd) continue;
    const std::uint64_t count = storages[i].count;
    for (const std::uint64_t fewer : std::set{count - 1, count / 2})
      if (fewer > 0)
        add(
            scenario,
            fmt::format("planned for {} of {} drives of {}", fewer, count, storages[i].name),
            [&](auto& machine) { machine.storage[i].count = fewer; }, plans);
    return;
  }
}

void add_smaller_swap(const Scenario& scenario, const result::Result& own,
                      std::vector<LowerPlan>& plans) {
  if (scenario.strategy.activations.swap_bytes || !own.plan.is_object()) return;
  const auto bytes = own.plan.value("swap_bytes", std::uint64_t{0});
  const auto least = own.plan.value("least_bytes", std::uint64_t{0});
  if (bytes <= least) return;
  LowerPlan& plan = plans.emplace_back(LowerPlan{"swaps three quarters of its plan", scenario});
  plan.scenario.strategy.activations.swap_bytes = Bytes(least + (bytes - least) / 4 * 3);
}

bool asks_for_none(const Scenario& scenario) {
  const auto& knobs = scenario.strategy.further;
  const auto said = knobs.find("plan.lower_limits");
  const auto planner = knobs.find("activations.planner");
  return scenario.run.io_bench || (said != knobs.end() && said->second == "0") ||
         (planner != knobs.end() && planner->second == "\"checkmate\"");  // exact, and takes long
}

}  // namespace

std::vector<LowerPlan> lower_plans(const Scenario& scenario, const result::Result& own) {
  std::vector<LowerPlan> plans;
  if (asks_for_none(scenario)) return plans;
  const description::Strategy& parts = scenario.strategy;
  const bool swaps = parts.activations.policy == ActivationPolicy::swap;
  const bool planned = parts.activations.policy == ActivationPolicy::plan;
  const bool cached = parts.activations.policy == ActivationPolicy::tensor_cache;
  if (swaps) add_smaller_swap(scenario, own, plans);
  if (swaps || planned) {
    add_gpu_memory(scenario, plans);
    add_host_memory(scenario, plans);
  }
  if (!own.feasible()) return plans;  // what waits takes no less room
  if (description::updates_in_backward(parts.gradients.policy)) add_slower_updates(scenario, plans);
  if (swaps || planned) add_slower_gpu(scenario, plans);
  if (swaps || planned || cached) add_slower_drives(scenario, 0.5, "half", plans);
  if (!cached) return plans;
  // its budget knows no link: on drives faster than that, half of them is still too many
  add_slower_drives(scenario, 0.25, "a quarter of", plans);
  add_fewer_drives(scenario, plans);
  return plans;
}

bool is_better(const result::Result& lower, const result::Result& own) {
  constexpr double spread = 1.001;  // steps of one run repeat to 0.1 %
  if (!lower.feasible()) return false;
  return !own.feasible() || own.step_time_s > spread * lower.step_time_s;
}

}  // namespace spillway::explore
