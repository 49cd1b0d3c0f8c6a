#include "scenarios/deepspeed_keys.hpp"

#include <cmath>

#include "scenarios/schema_check.hpp"

namespace spillway::scenarios {

using nlohmann::json;

namespace {

std::string written(const json& value) {
  const std::string text = value.dump();
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

void collect_unread(const json& value, const std::string& pointer,
                    const std::set<std::string>& read, std::vector<std::string>& unread) {
  if (read.contains(pointer)) return;
  if (!value.is_object()) {
    unread.push_back(dotted(pointer));
    return;
  }
  for (const auto& [key, child] : value.items())
    collect_unread(child, pointer_to(pointer, key), read, unread);
}

}  // namespace

const json* DeepSpeedKeys::find(const std::string& pointer) {
  const json* value = config_.find(pointer);
  if (value) read_.insert(pointer);
  return value;
}

bool DeepSpeedKeys::is_auto(const std::string& pointer) {
  const json* value = find(pointer);
  return value && *value == "auto";
}

std::optional<std::uint64_t> DeepSpeedKeys::count(const std::string& pointer,
                                                  std::optional<std::uint64_t> automatic) {
  const json* value = find(pointer);
  if (!value || value->is_null()) return std::nullopt;
  if (*value == "auto") return automatic;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (number >= 0 && number <= 1e15 && number == std::floor(number))
    return static_cast<std::uint64_t>(number);
  complain(pointer, written(*value) + " is not a whole number from 0 to 1e15",
           automatic ? "write a number or \"auto\"" : "");
  return std::nullopt;
}

std::uint64_t DeepSpeedKeys::count_or(const std::string& pointer, std::uint64_t otherwise,
                                      std::uint64_t automatic) {
  return count(pointer, automatic).value_or(otherwise);
}

bool DeepSpeedKeys::flag(const std::string& pointer, bool otherwise) {
  const json* value = find(pointer);
  if (!value || value->is_null() || *value == "auto") return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  complain(pointer, written(*value) + " is neither true nor false");
  return otherwise;
}

double DeepSpeedKeys::number(const std::string& pointer, double otherwise) {
  const json* value = find(pointer);
  if (!value || value->is_null()) return otherwise;
  if (value->is_number()) return value->get<double>();
  complain(pointer, written(*value) + " is not a number");
  return otherwise;
}

std::string DeepSpeedKeys::text(const std::string& pointer, const std::string& otherwise) {
  const json* value = find(pointer);
  if (!value || value->is_null()) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  complain(pointer, written(*value) + " is not a text");
  return otherwise;
}

std::string DeepSpeedKeys::device(const std::string& section) {
  const json* value = config_.find(section);
  if (!value || value->is_null()) return "none";
  if (!value->is_object()) {
    complain(section, written(*value) + " is not an object");
    return "none";
  }
  const std::string name = text(section + "/device", "none");
  if (name == "none" || name == "cpu" || name == "nvme") return name;
  complaints_.push_back(unknown_name(config_.place(section + "/device"),
                                     dotted(section + "/device"), name, {"none", "cpu", "nvme"}));
  return "none";
}

void DeepSpeedKeys::complain(const std::string& pointer, const std::string& message,
                             const std::string& hint) {
  const Place place = config_.place(pointer);
  complaints_.push_back({place.file, place.line, place.column, dotted(pointer), message, hint});
}

std::vector<std::string> DeepSpeedKeys::unread() const {
  std::vector<std::string> paths;
  collect_unread(config_.value, "", read_, paths);
  return paths;
}

}  // namespace spillway::scenarios
