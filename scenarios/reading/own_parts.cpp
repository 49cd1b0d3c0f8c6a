#include "scenarios/reading/own_parts.hpp"

#include <algorithm>

namespace spillway::scenarios {

using nlohmann::json;

namespace {

/// What `asked` has otherwise than `usual`, key by key.
json differing(const json& usual, const json& asked) {
  json different = json::object();
  for (const auto& [key, value] : asked.items()) {
    const auto found = usual.find(key);
    if (found == usual.end()) {
      different[key] = value;
    } else if (value.is_object() && found->is_object()) {
      if (json inner = differing(*found, value); !inner.empty()) different[key] = std::move(inner);
    } else if (value != *found) {
      different[key] = value;
    }
  }
  return different;
}

}  // namespace

json with_own_parts(const json& scenario, const std::vector<SystemInfo>& systems) {
  const std::string name = scenario.at("strategy").at("system");
  const auto system = std::find_if(systems.begin(), systems.end(),
                                   [&](const SystemInfo& one) { return one.name == name; });
  if (system == systems.end()) return scenario;
  json brief = scenario;
  brief["strategy"] = differing(json(system->defaults), scenario.at("strategy"));
  brief["strategy"]["system"] = name;
  try {
    const auto read = [&](const json& one) {
      return json(read_scenario(one, {}, systems).scenario);
    };
    return read(brief) == read(scenario) ? brief : scenario;
  } catch (const description::ScenarioError&) {
    return scenario;
  }
}

}  // namespace spillway::scenarios
