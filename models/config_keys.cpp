#include "models/config_keys.hpp"

#include <cmath>

namespace spillway::models {

namespace {
// Far above every model; keeps products of a few counts inside 64 bits.
constexpr std::uint64_t largest_count = std::uint64_t{1} << 31;
std::string shown(const nlohmann::json& value) {
  return value.is_structured() ? std::string("an ") + value.type_name() : value.dump();
}
}  // namespace

ConfigKeys::ConfigKeys(const nlohmann::json& config, std::string file)
    : config_(config), file_(std::move(file)) {
  if (config_.is_object()) return;
  complain("", std::string("a model is a JSON object, not ") + config_.type_name());
  throw_complaints();
}

const nlohmann::json* ConfigKeys::find(const char* key) const {
  const auto found = config_.find(key);
  return found == config_.end() || found->is_null() ? nullptr : &*found;
}

std::uint64_t ConfigKeys::count(const char* key, std::uint64_t otherwise, std::uint64_t least) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return otherwise;
  // A negative number reads as a huge unsigned one and is refused as such.
  if (value->is_number_integer()) {
    const auto number = value->get<std::uint64_t>();
    if (number >= least && number <= largest_count) return number;
  }
  complain(key, shown(*value) + " is not a whole number from " + std::to_string(least) + " to " +
                    std::to_string(largest_count));
  return otherwise;
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

void ConfigKeys::complain(const char* key, std::string message, std::string hint) {
  description::Complaint complaint;
  complaint.file = file_;
  complaint.path = key;
  complaint.message = std::move(message);
  complaint.hint = std::move(hint);
  complaints_.push_back(std::move(complaint));
}

void ConfigKeys::throw_complaints() const {
  if (!complaints_.empty()) throw description::ScenarioError(complaints_);
}

}  // namespace spillway::models
