#include "answers/fit/change.hpp"

#include "answers/fit/purchase.hpp"
#include "explore/runs_with.hpp"
#include "scenarios/description/quantity.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/format.h>

namespace spillway::answers {

using description::Scenario;
using nlohmann::json;

namespace {

/// A change below that is none.
constexpr double worth_saying = 1.02;

struct Step {
  std::string words;
  std::vector<std::string> set;
};

/// The next size from twice the memory on that the board takes, else its largest.
void add_memory(const Scenario& now, std::vector<Step>& steps) {
  const description::MachineFile& machine = now.machine;
  if (machine.gpu.one_memory) return;
  std::uint64_t size = host_memory_for(machine, 2 * machine.host.memory.value());
  if (const auto* board = board_of(machine); size == 0 && board && !board->memory.empty())
    size = board->memory.back().value();
  if (size <= machine.host.memory.value()) return;
  const std::string more = description::to_text(description::Bytes(size));
  const std::string memory = "machine.host.memory=\"" + more + "\"";
  steps.push_back({more + " of host memory", {memory}});
  for (const strategies::System& system : strategies::catalogue()) {
    const description::Strategy parts = system.defaults();
    const bool in_memory = parts.optimizer.home == description::Home::host &&
                           parts.optimizer.device == description::OptimizerDevice::cpu;
    if (in_memory && parts.optimizer.staleness == 0 && now.strategy.system != system.name)
      steps.push_back({fmt::format("{} of host memory and {}", more, system.name),
                       {memory, fmt::format(R"(strategy={{"system": "{}"}})", system.name)}});
  }
}

std::vector<Step> steps_from(const Scenario& now) {
  std::vector<Step> steps;
  add_memory(now, steps);
  for (const description::StorageSpec& storage : now.machine.storage)
    if (storage.kind == description::StorageKind::ssd) {
      steps.push_back(
          {"one more drive on " + storage.name,
           {fmt::format("machine.storage.{}.count={}", storage.name, storage.count + 1)}});
      break;
    }
  // how many cards go into a machine without a board of the list is not known
  if (now.parallel.tensor == 1 && now.parallel.pipeline == 1 && now.machine.nodes == 1 &&
      board_of(now.machine))
    steps.push_back({"one more card",
                     {fmt::format("machine.gpu.count={}", now.machine.gpu.count + 1),
                      fmt::format("parallel.data={}", now.parallel.data + 1)}});
  return steps;
}

}  // namespace

std::optional<FitChange> best_change(const explore::Backend& backend, const result::Result& answer,
                                     std::uint64_t& simulated) {
  const std::vector<scenarios::SystemInfo> systems = explore::known_systems();
  const Scenario now = explore::scenario_of(answer);
  std::vector<Step> steps;
  std::vector<Scenario> scenarios;
  for (Step& step : steps_from(now)) {
    try {
      Scenario changed =
          scenarios::read_scenario(answer.scenario, step.set, systems, strategies::unsupported)
              .scenario;
      if (!explore::runs_with(changed).runnable) continue;
      scenarios.push_back(std::move(changed));
      steps.push_back(std::move(step));
    } catch (const description::ScenarioError&) {
      continue;  // this step does not go with the scenario; the others may
    }
  }
  const auto outcomes = explore::simulate_all(backend, scenarios);
  simulated += scenarios.size();
  std::optional<FitChange> best;
  double most = answer.tokens_per_s * worth_saying;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& result = outcomes[i].result;
    if (!result || !result->feasible() || result->tokens_per_s <= most) continue;
    most = result->tokens_per_s;
    best = FitChange{steps[i].words, steps[i].set, most, result->price_usd};
  }
  return best;
}

}  // namespace spillway::answers
