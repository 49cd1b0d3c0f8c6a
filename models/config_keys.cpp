#include "models/config_keys.hpp"

#include <cmath>

namespace spillway::models {

namespace {
// Far above every model; keeps products of a few counts inside 64 bits.
constexpr std::uint64_t largest_count = std::uint64_t{1} << 31;
std::string shown(const nlohmann::json& value) {
  return value.is_structured() ? std::string("an ") + value.type_name() : value.dump();
}

/// Whether most parameters are counted by it.
bool is_size(std::string_view key) {
  for (const char* size :
       {"vocab_size", "hidden_size", "n_embd", "d_model", "num_hidden_layers", "n_layer",
        "num_layers", "intermediate_size", "d_ff", "moe_intermediate_size"})
    if (key == size) return true;
  return false;
}
}  // namespace

ConfigKeys::ConfigKeys(const nlohmann::json& config, std::string file, std::string prefix)
    : config_(&config), file_(std::move(file)), prefix_(std::move(prefix)) {
  if (config_->is_object()) return;
  complain("", std::string("a model is a JSON object, not ") + config_->type_name());
  throw_complaints();
}

ConfigKeys ConfigKeys::inside(const char* key) const {
  static const nlohmann::json nothing = nlohmann::json::object();
  const nlohmann::json* value = find(key);
  ConfigKeys inner(value && value->is_object() ? *value : nothing, file_, prefix_ + key + ".");
  if (value && !value->is_object()) inner.complain("", shown(*value) + " is no object");
  return inner;
}

void ConfigKeys::join(const ConfigKeys& inner) {
  complaints_.insert(complaints_.end(), inner.complaints_.begin(), inner.complaints_.end());
}

const char* ConfigKeys::first_of(std::initializer_list<const char*> names) const {
  for (const char* name : names)
    if (has(name)) return name;
  return *names.begin();
}

const nlohmann::json* ConfigKeys::find(const char* key) const {
  asked_.insert(key);
  const auto found = config_->find(key);
  return found == config_->end() || found->is_null() ? nullptr : &*found;
}

std::uint64_t ConfigKeys::count(const char* key, std::uint64_t otherwise, std::uint64_t least) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) {
    if (is_size(key)) taken_sizes_[prefix_ + key] = otherwise;
    return otherwise;
  }
  // A negative number reads as a huge unsigned one and is refused as such.
  if (value->is_number_integer()) {
    const auto number = value->get<std::uint64_t>();
    if (number >= least && number <= largest_count) return number;
  }
  complain(key, shown(*value) + " is not a whole number from " + std::to_string(least) + " to " +
                    std::to_string(largest_count));
  return otherwise;
}

std::uint64_t ConfigKeys::count_or_zero(const char* key, std::uint64_t otherwise) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_boolean() && !value->get<bool>()) return 0;
  if (value->is_number_integer() && value->get<std::int64_t>() <= 0 && !value->is_number_unsigned())
    return 0;
  return count(key, otherwise, 0);
}

std::vector<std::string> ConfigKeys::words(const char* key) {
  const nlohmann::json* value = find(key);
  std::vector<std::string> words;
  if (value == nullptr) return words;
  if (!value->is_array())
    complain(key, shown(*value) + " is not a list");
  else
    for (const nlohmann::json& word : *value) {
      if (word.is_string()) {
        words.push_back(word.get<std::string>());
        continue;
      }
      complain(key, shown(word) + " in the list is not a string");
      break;
    }
  return words;
}

std::vector<std::uint64_t> ConfigKeys::counts(const char* key) {
  const nlohmann::json* value = find(key);
  std::vector<std::uint64_t> counts;
  if (value == nullptr) return counts;
  if (!value->is_array())
    complain(key, shown(*value) + " is not a list");
  else
    for (const nlohmann::json& number : *value) {
      if (number.is_number_unsigned() && number.get<std::uint64_t>() <= largest_count) {
        counts.push_back(number.get<std::uint64_t>());
        continue;
      }
      complain(key, shown(number) + " in the list is not a whole number");
      break;
    }
  return counts;
}

bool ConfigKeys::flag(const char* key, bool otherwise) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  complain(key, shown(*value) + " is neither true nor false");
  return otherwise;
}

std::string ConfigKeys::text(const char* key, const std::string& otherwise) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  complain(key, shown(*value) + " is not a string");
  return otherwise;
}

double ConfigKeys::positive(const char* key, double otherwise) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_number()) {
    const double number = value->get<double>();
    if (number > 0 && std::isfinite(number)) return number;
  }
  complain(key, shown(*value) + " is not a number above 0");
  return otherwise;
}

void ConfigKeys::complain(const std::string& key, std::string message, std::string hint) {
  description::Complaint complaint;
  complaint.file = file_;
  complaint.path = prefix_ + key;
  if (complaint.path.ends_with('.')) complaint.path.pop_back();
  complaint.message = std::move(message);
  complaint.hint = std::move(hint);
  complaints_.push_back(std::move(complaint));
}

void ConfigKeys::throw_complaints() const {
  if (!complaints_.empty()) throw description::ScenarioError(complaints_);
}

}  // namespace spillway::models
