#include "scenarios/deepspeed/deepspeed_keys.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "scenarios/deepspeed/deepspeed_names.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/json/schema_check.hpp"

namespace spillway::scenarios {

using nlohmann::json;

namespace {

std::string written(const json& value) {
  return description::shortened(description::json_text(value));
}

void collect_unread(const json& value, const std::string& pointer,
                    const std::set<std::string>& read, std::vector<std::string>& unread) {
  if (read.contains(pointer)) return;
  if (!value.is_object()) {
    unread.push_back(pointer);
    return;
  }
  for (const auto& [key, child] : value.items())
    collect_unread(child, pointer_to(pointer, key), read, unread);
}

}  // namespace

const json* DeepSpeedKeys::find(std::string& pointer) {
  const json* value = config_.find(pointer);
  if (!value) {
    const std::size_t name = pointer.rfind('/') + 1;
    const std::string other = other_name(pointer.substr(name));
    if (other.empty()) return nullptr;
    value = config_.find(pointer.substr(0, name) + other);
    if (value) pointer.replace(name, std::string::npos, other);
  }
  if (value) read_.insert(pointer);
  return value;
}

void DeepSpeedKeys::check_sections() {
  for (const SectionShape& section : sections_of_deepspeed()) {
    const std::string name(section.name), pointer = "/" + name;
    const json* value = config_.find(pointer);
    if (!value || value->is_object()) continue;
    if (section.instead == Instead::flag && value->is_boolean()) continue;
    if (section.instead == Instead::null && value->is_null()) continue;
    read_.insert(pointer);
    if (is_placeholder(*value)) {
      placeholders_.push_back(name);
      continue;
    }
    const std::string example(section.example);
    complain(pointer, written(*value) + " is no section, and DeepSpeed stops there",
             example.empty() ? "write an object {...} or leave it out"
                             : "write \"" + name + "\": " + example + " or leave it out");
  }
}

bool DeepSpeedKeys::has(std::string pointer) { return find(pointer) != nullptr; }

bool DeepSpeedKeys::is_auto(std::string pointer) {
  const json* value = find(pointer);
  return value && (*value == "auto" || is_placeholder(*value));
}

/// CONFIG_BATCH_SIZE, ${BATCH}, <batch>: a template's, which a script fills in.
bool DeepSpeedKeys::is_placeholder(const json& value) {
  if (!value.is_string()) return false;
  const std::string text = value.get<std::string>();
  if (text.starts_with('$') || text.starts_with('<') || text.starts_with("{{")) return true;
  return text.size() > 2 &&
         std::all_of(
             text.begin(), text.end(),
             [](unsigned char c) { return std::isupper(c) || std::isdigit(c) || c == '_'; }) &&
         std::isupper(static_cast<unsigned char>(text[0])) && text != "NONE" && text != "TRUE" &&
         text != "FALSE";
}

/// A list stands where DeepSpeed wants one value, as its autotuner reads.
bool DeepSpeedKeys::is_list(const std::string& pointer, const json& value) {
  if (!value.is_array()) return false;
  complain(pointer, written(value) + " is a list of values to try, as the autotuner reads it",
           "write one of them; plan settings searches too");
  return true;
}

namespace {

/// Of those that no model of pydantic reads.
///   Source  DeepSpeed, runtime/config.py, _batch_assertion
bool is_batch_size(const std::string& pointer) {
  return pointer == "/train_batch_size" || pointer == "/train_micro_batch_size_per_gpu" ||
         pointer == "/gradient_accumulation_steps";
}

}  // namespace

std::optional<std::uint64_t> DeepSpeedKeys::count(std::string pointer,
                                                  std::optional<std::uint64_t> automatic) {
  const json* value = find(pointer);
  if (!value || value->is_null()) return std::nullopt;
  if (*value == "auto" || *value == "none" || *value == "None") return automatic;
  if (is_placeholder(*value)) {
    placeholders_.push_back(dotted(pointer));
    return automatic;
  }
  if (is_list(pointer, *value)) return std::nullopt;
  double number = value->is_number() ? value->get<double>() : -1;
  if (value->is_string() && is_batch_size(pointer)) {
    complain(pointer, written(*value) + " is a string, at whose comparison with 0 DeepSpeed stops",
             "write the number without quotes");
    return std::nullopt;
  }
  if (value->is_string()) {  // pydantic reads "4" too
    const std::string text = value->get<std::string>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) number = -1;
  }
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

bool DeepSpeedKeys::flag(std::string pointer, bool otherwise) {
  const json* value = find(pointer);
  if (!value || value->is_null() || *value == "auto") return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  if (*value == 0 || *value == 1) return *value == 1;
  if (value->is_string()) {  // as pydantic does
    std::string word = value->get<std::string>();
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* yes : {"true", "yes", "on", "1", "t", "y"})
      if (word == yes) return true;
    for (const char* no : {"false", "no", "off", "0", "f", "n", "none"})
      if (word == no) return false;
    if (is_placeholder(*value)) {
      placeholders_.push_back(dotted(pointer));
      return otherwise;
    }
  }
  if (is_list(pointer, *value)) return otherwise;
  complain(pointer, written(*value) + " is neither true nor false");
  return otherwise;
}

double DeepSpeedKeys::number(std::string pointer, double otherwise) {
  const json* value = find(pointer);
  if (!value || value->is_null() || *value == "auto") return otherwise;
  if (value->is_number()) return value->get<double>();
  complain(pointer, written(*value) + " is not a number");
  return otherwise;
}

std::string DeepSpeedKeys::text(std::string pointer, const std::string& otherwise) {
  const json* value = find(pointer);
  if (!value || value->is_null() || *value == "auto") return otherwise;
  if (value->is_string()) return value->get<std::string>();
  complain(pointer, written(*value) + " is not a text");
  return otherwise;
}

std::string DeepSpeedKeys::device(const std::string& section) {
  const json* value = config_.find(section);
  if (!value || value->is_null() || *value == false || *value == "auto" || *value == "none") {
    if (value) read_.insert(section);
    return "none";
  }
  if (!value->is_object()) {
    complain(section, written(*value) + " is not an object");
    return "none";
  }
  const std::string name = text(section + "/device", "none");
  if (name == "None") return "none";
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

bool DeepSpeedKeys::switched_on(const std::string& pointer) const {
  const json* value = config_.find(pointer);
  if (!value || value->is_null() || *value == false || *value == 0 || *value == "none")
    return false;
  if (!value->is_object()) return true;
  const auto enabled = value->find("enabled");
  return enabled == value->end() || *enabled != false;
}

bool DeepSpeedKeys::switched_on_above(const std::string& pointer) const {
  for (std::string at = pointer; !at.empty(); at = parent_of(at))
    if (!switched_on(at)) return false;
  const json* value = config_.find(pointer);
  return !value || (*value != 1 && *value != -1);  // a group of one rank, or none
}

bool DeepSpeedKeys::is_flag(const std::string& pointer) const {
  const json* value = config_.find(pointer);
  return value && value->is_boolean();
}

std::vector<std::string> DeepSpeedKeys::unread() const {
  std::vector<std::string> paths;
  collect_unread(config_.value, "", read_, paths);
  return paths;
}

}  // namespace spillway::scenarios
