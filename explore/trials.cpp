#include "explore/trials.hpp"

#include "strategies/catalogue.hpp"

#include <fmt/format.h>

namespace spillway::explore {

using description::Scenario;
using nlohmann::json;

namespace {

std::string gib(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(1ull << 30));
}

std::string why_not(const Outcome& outcome) {
  if (!outcome.complaints.empty()) return to_string(outcome.complaints.front());
  if (!outcome.result) return outcome.failure;
  const auto& stop = outcome.result->infeasible;
  if (!stop) return "";
  return fmt::format("{} memory: {} in {} asks for {}, {} are free", stop->tier, stop->purpose,
                     stop->phase, gib(stop->asked_bytes), gib(stop->free_bytes));
}

}  // namespace

std::optional<description::ScenarioError> try_all(const Backend& backend, const json& base,
                                                  std::vector<Trial>& trials) {
  const std::vector<scenarios::SystemInfo> systems = known_systems();
  std::vector<Scenario> scenarios;
  std::vector<Trial*> run;
  std::optional<description::ScenarioError> first;
  for (Trial& trial : trials) {
    try {
      scenarios.push_back(
          scenarios::read_scenario(base, trial.overrides, systems, strategies::unsupported)
              .scenario);
      run.push_back(&trial);
    } catch (const description::ScenarioError& error) {
      const description::Complaint& complaint = error.complaints().front();
      trial.reason = complaint.path + ": " + complaint.message;
      if (!first) first = error;
    }
  }
  if (run.empty()) return first;
  const std::vector<Outcome> outcomes = simulate_all(backend, scenarios);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    run[i]->result = outcomes[i].result;
    run[i]->reason = why_not(outcomes[i]);
  }
  return std::nullopt;
}

const Trial* fastest(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials)
    if (trial.fits() && (!best || trial.result->tokens_per_s > best->result->tokens_per_s))
      best = &trial;
  return best;
}

std::vector<std::string> assumed_numbers(const result::Result& result) {
  std::vector<std::string> paths;
  for (const auto& [path, source] : result.scenario.at("machine").at("sources").items())
    if (source.get<std::string>().starts_with("assumed") && !path.starts_with("prices_usd."))
      paths.push_back(path);
  return paths;
}

}  // namespace spillway::explore
