#include "answers/plan/changed.hpp"

#include "answers/fit/first_change.hpp"
#include "explore/outcomes.hpp"
#include "scenarios/read_scenario.hpp"

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

std::vector<std::vector<ChangedQuestion>> changed_questions(
    const PlanQuestion& question, const nlohmann::json& base,
    const std::vector<answer::Trial>& trials) {
  std::vector<std::vector<ChangedQuestion>> rounds;
  const std::optional<description::Scenario> now = scenario_of(base, trials);
  if (!now) return rounds;
  for (const std::vector<FirstChange>& changes : free_changes(*now, question.overrides)) {
    std::vector<ChangedQuestion>& round = rounds.emplace_back();
    for (const FirstChange& change : changes) {
      round.push_back({", " + change.setting, question});
      std::vector<std::string>& overrides = round.back().question.overrides;
      overrides.insert(overrides.end(), change.set.begin(), change.set.end());
    }
  }
  return rounds;
}

}  // namespace spillway::answers
