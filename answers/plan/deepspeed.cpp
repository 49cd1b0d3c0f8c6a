#include "answers/plan/deepspeed.hpp"

#include <algorithm>

namespace spillway::answers {

using answer::Trial;

namespace {

constexpr std::size_t most_simulated = 8;

std::vector<const Trial*> fastest_first(const std::vector<Trial>& trials) {
  std::vector<const Trial*> fit;
  for (const Trial& trial : trials)
    if (trial.fits()) fit.push_back(&trial);
  std::stable_sort(fit.begin(), fit.end(), [](const Trial* a, const Trial* b) {
    return a->result->tokens_per_s > b->result->tokens_per_s;
  });
  return fit;
}

}  // namespace

Configuration fastest_configuration(const explore::Backend& backend,
                                    const std::vector<Trial>& trials,
                                    const scenarios::ExportOptions& options) {
  Configuration best;
  std::vector<Configuration> candidates;
  std::vector<description::Scenario> back;
  const auto systems = explore::known_systems();
  for (const Trial* trial : fastest_first(trials)) {
    if (candidates.size() == most_simulated) break;
    try {
      Configuration one;
      one.trial = trial;
      one.exported =
          scenarios::export_deepspeed(explore::scenario_of(*trial->result), systems, options);
      back.push_back(scenarios::read_scenario(one.exported.scenario, {}, systems).scenario);
      candidates.push_back(std::move(one));
    } catch (const description::ScenarioError& error) {
      const description::Complaint& first = error.complaints().front();
      if (best.refusal.empty()) best.refusal = first.path + ": " + first.message;
    }
  }
  const auto outcomes = explore::simulate_all(backend, back);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& result = outcomes[i].result;
    if (!result || !result->feasible()) {
      const std::string& words = candidates[i].trial->words;
      if (best.refusal.empty())
        best.refusal = outcomes[i].answered() ? words + " does not fit there"
                                              : words + " could not be simulated";
      continue;
    }
    if (best.result && result->tokens_per_s <= best.result->tokens_per_s) continue;
    candidates[i].refusal = best.refusal;
    candidates[i].result = result;
    best = candidates[i];
  }
  return best;
}

bool deepspeed_can(const nlohmann::json& base, const std::vector<std::string>& overrides) {
  try {
    const auto systems = explore::known_systems();
    scenarios::ExportOptions options;
    options.nearest = true;
    scenarios::export_deepspeed(scenarios::read_scenario(base, overrides, systems).scenario,
                                systems, options);
    return true;
  } catch (const description::ScenarioError&) {
    return false;
  }
}

}  // namespace spillway::answers
