#include "explore/explain.hpp"

#include "scenarios/description/quantity.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/format.h>

namespace spillway::explore {

using description::Scenario;
using nlohmann::json;

namespace {

struct Step {
  std::string words;
  std::vector<std::string> overrides;
};

template <class Q>
std::string times(const std::string& path, Q rate, double factor) {
  return path + "=" + description::to_text(rate * factor);
}

void add_drives(const Scenario& scenario, std::vector<Step>& steps) {
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    const std::string path = "machine.storage." + storage.name + ".count=";
    steps.push_back(
        {"one more drive of " + storage.name, {path + std::to_string(storage.count + 1)}});
    if (storage.count > 1)
      steps.push_back(
          {"one drive of " + storage.name + " fewer", {path + std::to_string(storage.count - 1)}});
  }
}

void add_memory(const Scenario& scenario, std::vector<Step>& steps) {
  const std::uint64_t memory = scenario.machine.host.memory.value(), step = 64ull << 30;
  const auto to = [](std::uint64_t bytes) {
    return std::vector<std::string>{"machine.host.memory=" +
                                    description::to_text(description::Bytes(bytes))};
  };
  steps.push_back({"64 GiB of host memory more", to(memory + step)});
  if (memory > step) steps.push_back({"64 GiB of host memory less", to(memory - step)});
}

void add_rates(const Scenario& scenario, std::vector<Step>& steps) {
  const description::PcieSpec& pcie = scenario.machine.pcie;
  Step link{"a link twice as fast",
            {times("machine.pcie.h2d", pcie.h2d, 2), times("machine.pcie.d2h", pcie.d2h, 2)}};
  if (pcie.link) link.overrides.push_back(times("machine.pcie.link", *pcie.link, 2));
  steps.push_back(std::move(link));
  Step gpu{"a GPU twice as fast",
           {times("machine.gpu.memory_rate", scenario.machine.gpu.memory_rate, 2)}};
  for (const auto& [type, rate] : scenario.machine.gpu.compute)
    gpu.overrides.push_back(times("machine.gpu.compute." + type, rate, 2));
  steps.push_back(std::move(gpu));
  const description::HostSpec& host = scenario.machine.host;
  steps.push_back(
      {"a processor twice as fast",
       {times("machine.host.adam", host.adam, 2), times("machine.host.convert", host.convert, 2),
        times("machine.host.check_chained", host.check_chained, 2),
        times("machine.host.check_fused", host.check_fused, 2)}});
}

void add_systems(const Scenario& scenario, std::vector<Step>& steps) {
  for (const strategies::System& system : strategies::catalogue())
    if (scenario.strategy.system != system.name)
      steps.push_back({std::string("the system ") + system.name,
                       {std::string(R"(strategy={"system": ")") + system.name + "\"}"}});
}

std::string why_not(const Outcome& outcome) {
  if (!outcome.complaints.empty()) return outcome.complaints.front().message;
  if (!outcome.result) return outcome.failure;
  const auto& infeasible = outcome.result->infeasible;
  return infeasible ? fmt::format("does not fit: {} memory, {} in {}", infeasible->tier,
                                  infeasible->purpose, infeasible->phase)
                    : "";
}

}  // namespace

std::vector<NextStep> next_steps(const Backend& backend, const json& written) {
  const std::vector<scenarios::SystemInfo> systems = known_systems();
  const Scenario scenario = scenarios::read_scenario(written, {}, systems).scenario;
  std::vector<Step> steps;
  add_drives(scenario, steps);
  add_memory(scenario, steps);
  add_rates(scenario, steps);
  add_systems(scenario, steps);
  std::vector<NextStep> answers;
  std::vector<Scenario> changed;
  std::vector<std::size_t> of;
  for (const Step& step : steps) {
    NextStep& answer = answers.emplace_back(NextStep{step.words, std::nullopt, ""});
    try {
      changed.push_back(
          scenarios::read_scenario(written, step.overrides, systems, strategies::unsupported)
              .scenario);
      of.push_back(answers.size() - 1);
    } catch (const description::ScenarioError& error) {
      answer.reason = error.complaints().front().message;
    }
  }
  const std::vector<Outcome> outcomes = simulate_all(backend, changed);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    NextStep& answer = answers[of[i]];
    answer.reason = why_not(outcomes[i]);
    if (answer.reason.empty()) answer.result = outcomes[i].result;
  }
  return answers;
}

}  // namespace spillway::explore
