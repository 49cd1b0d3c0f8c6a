#include "explore/lower_plans.hpp"

#include <fmt/format.h>
#include <cmath>

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

void add_host_memory(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  const Bytes memory = scenario.machine.host.memory;
  if (memory.value() == 0) return;
  const Bytes lower = next_lower(memory, 1);
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
  add(
      scenario, "updates held to half the rate of the processor",
      [](auto& machine) {
        machine.host.adam = machine.host.adam * 0.5;
        machine.host.convert = machine.host.convert * 0.5;
      },
      plans);
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

}  // namespace

std::vector<LowerPlan> lower_plans(const Scenario& scenario, const result::Result& own) {
  std::vector<LowerPlan> plans;
  const auto said = scenario.strategy.further.find("plan.lower_limits");
  if (said != scenario.strategy.further.end() && said->second == "0") return plans;
  const auto planner = scenario.strategy.further.find("activations.planner");
  const bool exact = planner != scenario.strategy.further.end() &&
                     planner->second == "\"checkmate\"";  // and takes its time
  if (scenario.run.io_bench || exact) return plans;
  const bool swaps = scenario.strategy.activations.policy == ActivationPolicy::swap;
  if (swaps) add_smaller_swap(scenario, own, plans);
  if (description::updates_in_backward(scenario.strategy.gradients.policy))
    add_slower_updates(scenario, plans);
  if (!swaps && scenario.strategy.activations.policy != ActivationPolicy::plan) return plans;
  add_gpu_memory(scenario, plans);
  add_host_memory(scenario, plans);
  add_slower_gpu(scenario, plans);
  return plans;
}

bool is_better(const result::Result& lower, const result::Result& own) {
  constexpr double spread = 1.001;  // steps of one run repeat to 0.1 %
  if (!lower.feasible()) return false;
  return !own.feasible() || own.step_time_s > spread * lower.step_time_s;
}

}  // namespace spillway::explore
