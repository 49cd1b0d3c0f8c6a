#include "scenarios/reading/settings.hpp"

#include <algorithm>

namespace spillway::scenarios {

using nlohmann::json;

namespace {

std::string said_at(const Place& place) {
  if (place.file.empty()) return "scenario";
  return place.line > 0 ? place.file + ":" + std::to_string(place.line) : place.file;
}

/// Whether `object` decides the value at `pointer`: it has it, or something whole in its place.
bool decides(const LocatedJson& object, const std::string& pointer) {
  for (std::string at = pointer; !at.empty(); at = parent_of(at)) {
    const json* value = object.find(at);
    if (value) return at == pointer || !value->is_object();
  }
  return false;
}

/// Tells where each value of one resolved scenario comes from.
class Sources {
 public:
  Sources(const description::Scenario& scenario, const Document& document, const json& preset,
          const strategies::rules::Settled& settled)
      : scenario_(scenario), document_(document), settled_(settled) {
    preset_.value = preset;
  }

  std::string of(const std::string& pointer) const {
    if (pointer.starts_with("/machine/")) return of_machine(pointer.substr(8));
    const std::string path = dotted(pointer);
    if (const auto rule = settled_.reasons.find(path); rule != settled_.reasons.end())
      return rule->second;
    if (decides(document_.scenario, pointer)) return said_at(document_.scenario.place(pointer));
    if (!pointer.starts_with("/strategy/")) return "default";
    if (preset_.value.is_object() && decides(preset_, pointer.substr(9)))
      return "preset " + scenario_.strategy.preset;
    return "default of " + scenario_.strategy.system;
  }

 private:
  std::string of_machine(const std::string& pointer) const {
    const LocatedJson& machine = document_.machine.json;
    const bool said = decides(machine, pointer);
    if (said && machine.place(pointer).file.starts_with("--set "))
      return machine.place(pointer).file;
    const auto source = scenario_.machine.sources.find(source_key(pointer));
    if (source != scenario_.machine.sources.end()) return source->second;
    return said ? said_at(machine.place(pointer)) : "default";
  }

  /// "/storage/0/read" -> "storage.nvme.read", as `sources` names it.
  std::string source_key(const std::string& pointer) const {
    std::string path = pointer.substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    if (!pointer.starts_with("/storage/")) return path;
    const std::size_t end = pointer.find('/', 9);
    const std::size_t index = std::stoul(pointer.substr(9, end - 9));
    return "storage." + scenario_.machine.storage.at(index).name + path.substr(end - 1);
  }

  const description::Scenario& scenario_;
  const Document& document_;
  const strategies::rules::Settled& settled_;
  LocatedJson preset_;
};

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void collect(const json& value, const std::string& pointer, const Sources& sources,
             std::vector<Setting>& settings) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, child] : value.items())
      collect(child, pointer_to(pointer, key), sources, settings);
  } else if (value.is_array() && !value.empty() && value[0].is_object()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      collect(value[i], pointer_to(pointer, std::to_string(i)), sources, settings);
  } else {
    settings.push_back({dotted(pointer), value_text(value), sources.of(pointer)});
  }
}

}  // namespace

std::vector<Setting> settings_of(const description::Scenario& scenario, const Document& document,
                                 const json& preset, const strategies::rules::Settled& settled) {
  json whole = scenario;
  whole["model"] = scenario.model_name;
  whole["machine"].erase("sources");
  std::vector<Setting> settings;
  collect(whole, "", Sources(scenario, document, preset, settled), settings);
  return settings;
}

}  // namespace spillway::scenarios
