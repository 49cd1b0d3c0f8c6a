#include "answers/plan/changed.hpp"

#include "answers/fit/first_change.hpp"
#include "explore/outcome/outcomes.hpp"
#include "scenarios/reading/read_scenario.hpp"

#include <iterator>
#include <nlohmann/json.hpp>

namespace spillway::answers {

namespace {

/// The first that nothing refuses: what it trains, and on how many cards, is the same in all.
std::optional<description::Scenario> scenario_of(const nlohmann::json& base,
                                                 const std::vector<answer::Trial>& trials) {
  const std::vector<scenarios::SystemInfo> systems = explore::known_systems();
  for (const answer::Trial& trial : trials) {
    if (trial.refused) continue;
    try {
      return scenarios::read_scenario(base, trial.overrides, systems).scenario;
    } catch (const description::ScenarioError&) {
      continue;  // its trial says what is wrong
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::vector<answer::Trial>> changed_trials(const PlanQuestion& question,
                                                       const nlohmann::json& base,
                                                       const std::vector<answer::Trial>& trials,
                                                       const TrialsOf& trials_of) {
  std::vector<std::vector<answer::Trial>> rounds;
  const std::optional<description::Scenario> now = scenario_of(base, trials);
  if (!now) return rounds;
  for (const std::vector<FirstChange>& changes : free_changes(*now, question.overrides)) {
    std::vector<answer::Trial>& round = rounds.emplace_back();
    for (const FirstChange& change : changes) {
      PlanQuestion changed = question;
      changed.overrides.insert(changed.overrides.end(), change.set.begin(), change.set.end());
      std::vector<answer::Trial> more = trials_of(changed, ", " + change.setting);
      std::move(more.begin(), more.end(), std::back_inserter(round));
    }
  }
  return rounds;
}

}  // namespace spillway::answers
