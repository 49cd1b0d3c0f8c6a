#include "answers/plan/changed.hpp"

#include "answers/fit/first_change.hpp"
#include "explore/outcome/outcomes.hpp"
#include "explore/outcome/runs_with.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
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

/// Whether "strategy={...}" is of a system of DeepSpeed, with whatever parts.
bool is_of_deepspeed(const std::string& way) {
  constexpr std::string_view name = "strategy=";
  if (!way.starts_with(name)) return false;
  const nlohmann::json parts = nlohmann::json::parse(way.substr(name.size()), nullptr, false);
  if (!parts.is_object()) return false;
  const strategies::System* system = strategies::find_system(parts.value("system", ""));
  return system && system->program == strategies::Program::deepspeed;
}

}  // namespace

std::vector<explore::FreeSettings> less_memory_of(const nlohmann::json& base,
                                                  const std::vector<std::string>& overrides,
                                                  const std::vector<std::string>& asked) {
  if (overrides.empty() || !is_of_deepspeed(overrides.front())) return {};
  static const std::vector<scenarios::SystemInfo> systems = explore::known_systems();
  try {
    const description::Scenario own = scenarios::read_scenario(base, overrides, systems).scenario;
    if (explore::runs_with(own).runnable) return explore::less_memory_of(own, asked);
  } catch (const description::ScenarioError&) {  // who tries it says what is wrong
  }
  return {};
}

std::vector<answer::Trial> with_less_memory(const PlanQuestion& question,
                                            const nlohmann::json& base,
                                            const std::vector<answer::Trial>& trials) {
  std::vector<answer::Trial> all;
  for (const answer::Trial& trial : trials)
    for (const explore::FreeSettings& smaller :
         less_memory_of(base, trial.overrides, question.overrides)) {
      answer::Trial& other = all.emplace_back();
      other.words = trial.words;
      other.words.insert(std::min(other.words.find(", micro-batch"), other.words.size()),
                         explore::parts_in_name(smaller.overrides));
      other.overrides = trial.overrides;
      other.overrides.insert(other.overrides.end(), smaller.overrides.begin(),
                             smaller.overrides.end());
    }
  return all;
}

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
    std::vector<answer::Trial> smaller = with_less_memory(question, base, round);
    std::move(smaller.begin(), smaller.end(), std::back_inserter(round));
  }
  return rounds;
}

}  // namespace spillway::answers
