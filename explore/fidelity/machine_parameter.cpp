#include "explore/fidelity/machine_parameter.hpp"

#include "scenarios/json/schema_check.hpp"

#include <fmt/format.h>
#include <cmath>
#include <limits>

namespace spillway::explore {

using description::Dimension;
using nlohmann::json;

namespace {

/// Where a walk along a path stands: in the machine and in its schema.
struct Spot {
  const json* value;
  const json* schema;
  std::string pointer;
};

const json* schema_below(const json& schema, const std::string& key) {
  if (schema.contains("properties") && schema["properties"].contains(key))
    return &schema["properties"][key];
  const auto rest = schema.find("additionalProperties");
  return rest != schema.end() && rest->is_object() ? &*rest : nullptr;
}

/// One step down: a key, or the `name` of a list's item. False when there is none.
bool descend(Spot& spot, const std::string& step) {
  if (spot.value->is_object() && spot.value->contains(step)) {
    spot.schema = schema_below(*spot.schema, step);
    spot.value = &(*spot.value)[step];
    spot.pointer = scenarios::pointer_to(spot.pointer, step);
    return spot.schema != nullptr;
  }
  if (!spot.value->is_array()) return false;
  for (std::size_t i = 0; i < spot.value->size(); ++i)
    if ((*spot.value)[i].value("name", "") == step) {
      spot = {&(*spot.value)[i], &(*spot.schema)["items"],
              scenarios::pointer_to(spot.pointer, std::to_string(i))};
      return true;
    }
  return false;
}

bool whole(Dimension dimension) {
  return dimension == Dimension::bytes || dimension == Dimension::params;
}

double four_digits(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 3);
  return std::round(value / unit) * unit;
}

}  // namespace

MachineParameter::MachineParameter(const json& machine, const std::string& path) : path_(path) {
  Spot spot{&machine, &scenarios::schema("machine"), ""};
  bool found = true;
  std::string rest = path;
  while (found && !rest.empty()) {
    const std::size_t dot = rest.find('.');
    found = descend(spot, rest.substr(0, dot));
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  if (found) dimension_ = description::dimension_of_format(spot.schema->value("format", ""));
  if (!found || !(dimension_ ? spot.value->is_string() : spot.value->is_number()))
    throw description::ScenarioError(
        {{machine.value("name", ""), 0, 0, path, "no such number in this machine", ""}});
  pointer_ = spot.pointer;
  const auto number = [&] {
    const std::string text = spot.value->get<std::string>();
    return static_cast<double>(description::parse_quantity(*dimension_, text).value);
  };
  value_ = dimension_ ? number() : spot.value->get<double>();
  most_ = spot.schema->value("maximum", std::numeric_limits<double>::max());
}

json MachineParameter::exact(double value) const {
  if (!dimension_) return value;
  return description::print_quantity(*dimension_, whole(*dimension_) ? std::round(value) : value);
}

json MachineParameter::written(double value) const {
  if (!dimension_) return std::stod(fmt::format("{:.4g}", value));
  if (!whole(*dimension_)) return exact(four_digits(value));
  constexpr double kib = 1024;
  double unit = 1;
  std::string name = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < unit * kib) break;
    unit *= kib;
    name = next;
  }
  return fmt::format("{:.4g} {}", value / unit, name);
}

std::string MachineParameter::text(double value) const {
  const json found = written(value);
  return found.is_string() ? found.get<std::string>() : found.dump();
}

std::string MachineParameter::override_with(double value) const {
  const json found = exact(value);
  return "machine." + path_ + "=" + (found.is_string() ? found.get<std::string>() : found.dump());
}

}  // namespace spillway::explore
