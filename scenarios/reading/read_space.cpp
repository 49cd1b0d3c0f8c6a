#include "scenarios/reading/read_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <map>

#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/axis_values.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::ScenarioError;
using nlohmann::json;

namespace {

constexpr std::size_t most_objectives = 4;
/// Values of an axis of which each is tried; of a longer range both ends are.
constexpr std::size_t tried_each = 64;

std::pair<int, int> at(const Place& place) { return {place.line, place.column}; }

bool is_file(const std::filesystem::path& path) {
  std::error_code error;  // what cannot be looked at cannot be read
  return std::filesystem::is_regular_file(path, error);
}

/// Takes a space file to a Space, collecting complaints on the way.
class SpaceReader {
 public:
  SpaceReader(LocatedJson document, const std::vector<SystemInfo>& systems)
      : document_(std::move(document)), systems_(systems) {}

  Space read() {
    complaints_ = check_schema(document_, "space");
    stop_when_wrong();
    const json& written = document_.value;
    const std::filesystem::path file(document_.place("").file);
    space_.name = written.value("name", file.stem().string());
    read_base();
    read_axes();
    read_objectives();
    read_conditions("where", space_.where);
    read_conditions("constraints", space_.constraints);
    stop_when_wrong();
    check_base();
    stop_when_wrong();
    for (const Axis& axis : space_.axes) check_axis(axis);
    stop_when_wrong();
    return std::move(space_);
  }

 private:
  void stop_when_wrong() {
    if (complaints_.empty()) return;
    tidy(complaints_);
    throw ScenarioError(complaints_);
  }
  void complain(const Place& place, const std::string& path, const std::string& message,
                const std::string& hint) {
    complaints_.push_back({place.file, place.line, place.column, path, message, hint});
  }

  void read_base() {
    const json& base = document_.value["base"];
    if (!base.is_string()) {
      space_.base = part_of(document_, "/base");
      return;
    }
    const Place place = document_.place("/base");
    std::filesystem::path file =
        std::filesystem::path(place.file).parent_path() / base.get<std::string>();
    if (const auto shipped = shipped_file("scenarios/examples", base.get<std::string>());
        !is_file(file) && is_file(shipped))
      file = shipped;
    if (!is_file(file))
      return complain(place, "base", "no file \"" + file.string() + "\"",
                      "write the path of a scenario, relative to this file, or the name of an "
                      "example");
    try {
      space_.base = read_located(file.string());
    } catch (const ScenarioError& failure) {
      complaints_.insert(complaints_.end(), failure.complaints().begin(),
                         failure.complaints().end());
    }
  }

  void read_axes() {
    for (const auto& [name, unused] : document_.value["axes"].items())
      space_.axes.push_back(read_axis(document_, pointer_to("/axes", name), name, complaints_));
    std::sort(space_.axes.begin(), space_.axes.end(),
              [](const Axis& a, const Axis& b) { return at(a.place) < at(b.place); });
    if (space_.axes.empty())
      complain(document_.place("/axes"), "axes", "nothing varies", "write at least one axis");
    check_overlaps();
  }

  /// Two axes that set one path would undo each other.
  void check_overlaps() {
    std::map<std::string, std::string> set_by;
    for (const Axis& axis : space_.axes)
      for (const AxisValue& value : axis.values)
        for (const std::string& override : value.overrides) {
          const std::string path = override.substr(0, override.find('='));
          const auto [known, fresh] = set_by.emplace(path, axis.name);
          if (!fresh && known->second != axis.name)
            return complain(axis.place, "axes." + axis.name,
                            "sets " + path + ", which axis " + known->second + " sets too",
                            "let one axis set it");
        }
  }

  void read_objectives() {
    for (const auto& [path, direction] : document_.value["objectives"].items())
      space_.objectives.push_back(
          {path, direction == "min", document_.key_place(pointer_to("/objectives", path))});
    std::sort(space_.objectives.begin(), space_.objectives.end(),
              [](const Objective& a, const Objective& b) { return at(a.place) < at(b.place); });
    if (space_.objectives.empty() || space_.objectives.size() > most_objectives)
      complain(document_.place("/objectives"), "objectives",
               fmt::format("there are {}", space_.objectives.size()), "write one to four");
  }

  void read_conditions(const std::string& key, std::vector<Condition>& into) {
    if (!document_.value.contains(key)) return;
    const json& list = document_.value[key];
    for (std::size_t i = 0; i < list.size(); ++i)
      into.push_back(
          {list[i].get<std::string>(), document_.place(pointer_to("/" + key, std::to_string(i)))});
  }

  /// What is wrong with the base, apart from what only all of it together could say.
  std::vector<Complaint> wrong_with(const std::vector<std::string>& overrides) const {
    const Document document = assemble(space_.base, overrides);
    std::vector<Complaint> found = document.complaints;
    const auto add = [&](const std::vector<Complaint>& more) {
      found.insert(found.end(), more.begin(), more.end());
    };
    add(check_schema(document.scenario, "scenario"));
    if (document.machine.present) add(check_machine(document.machine.json));
    add(unknown_system(document.scenario));
    return found;
  }

  std::vector<Complaint> unknown_system(const LocatedJson& scenario) const {
    const json* system = scenario.find("/strategy/system");
    if (!system || !system->is_string()) return {};
    std::vector<std::string> known;
    for (const SystemInfo& one : systems_) known.push_back(one.name);
    const auto name = system->get<std::string>();
    if (std::find(known.begin(), known.end(), name) != known.end()) return {};
    return {unknown_name(scenario.place("/strategy/system"), "strategy.system", name, known)};
  }

  void check_base() { complaints_ = wrong_with({}); }

  void check_axis(const Axis& axis) {
    for (std::size_t i = 0; i < axis.values.size(); ++i)
      if (axis.values.size() <= tried_each || i == 0 || i + 1 == axis.values.size())
        check_value(axis, axis.values[i]);
  }

  /// What a value makes wrong, at the value's place.
  void check_value(const Axis& axis, const AxisValue& value) {
    for (const Complaint& complaint : wrong_with(value.overrides)) {
      const bool unknown = complaint.message == "no such key" && !axis.alternatives &&
                           complaint.path.find('.') == std::string::npos;
      complain(value.place, "axes." + axis.name, complaint.path + ": " + complaint.message,
               unknown ? "an axis is a path of a scenario, or a free name with alternatives"
                       : complaint.hint);
    }
  }

  LocatedJson document_;
  const std::vector<SystemInfo>& systems_;
  std::vector<Complaint> complaints_;
  Space space_;
};

}  // namespace

Space read_space(const std::string& file, const std::vector<SystemInfo>& systems) {
  return SpaceReader(read_located(named_file(file, "scenarios/spaces", "space")), systems).read();
}

}  // namespace spillway::scenarios
