#include "explore/ways.hpp"

#include "scenarios/document.hpp"
#include "scenarios/shipped.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>

namespace spillway::explore {

using nlohmann::json;

namespace {

/// What a mix swaps: " + weights.home host".
void add_parts(const json& part, const std::string& path, std::string& name) {
  if (part.is_object()) {
    for (const auto& [key, child] : part.items())
      add_parts(child, path.empty() ? key : path + "." + key, name);
  } else if (path != "system") {
    name += " + " + path + " " + (part.is_string() ? part.get<std::string>() : part.dump());
  }
}

/// The parts of a scenario that ships as an example or stands in a file.
Way mix_of(const std::string& asked) {
  const scenarios::LocatedJson scenario =
      scenarios::read_located(scenarios::named_file(asked, "scenarios/examples", "--mix"));
  const json* strategy = scenario.find("/strategy");
  const json* system = scenario.find("/strategy/system");
  if (!system || !system->is_string())
    throw description::ScenarioError({{"", 0, 0, "--mix", asked + " has no strategy.system",
                                       "name a scenario that swaps parts"}});
  Way way{system->get<std::string>(), "strategy=" + strategy->dump(), false};
  add_parts(*strategy, "", way.name);
  return way;
}

std::vector<std::string> shipped_mixes() {
  std::vector<std::string> names = scenarios::shipped_names("scenarios/examples");
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("mix_"); });
  return names;
}

}  // namespace

bool is_mix(const std::string& name) {
  const std::vector<std::string> shipped = scenarios::shipped_names("scenarios/examples");
  return !strategies::find_system(name) &&
         std::find(shipped.begin(), shipped.end(), name) != shipped.end();
}

Way way_named(const std::string& name) {
  if (is_mix(name)) return mix_of(name);
  return {name, R"(strategy={"system": ")" + name + "\"}", false};
}

std::vector<Way> ways_of(const std::vector<std::string>& asked,
                         const std::vector<std::string>& mixes_asked) {
  std::vector<Way> ways;
  for (const strategies::System& system : strategies::catalogue()) {
    const description::Strategy own = system.defaults();
    if (asked.empty() ? own.optimizer.staleness == 0
                      : std::find(asked.begin(), asked.end(), system.name) != asked.end())
      ways.push_back({system.name, std::string(R"(strategy={"system": ")") + system.name + "\"}",
                      own.activations.policy == description::ActivationPolicy::plan});
  }
  for (const std::string& name : asked)  // whoever reads it says what is wrong
    if (!strategies::find_system(name))
      ways.push_back({name, R"(strategy={"system": ")" + name + "\"}", false});
  std::vector<std::string> mixes = mixes_asked;
  if (mixes.empty() && asked.empty()) mixes = shipped_mixes();
  for (const std::string& mix : mixes)
    if (mix != "none") ways.push_back(mix_of(mix));
  return ways;
}

}  // namespace spillway::explore
