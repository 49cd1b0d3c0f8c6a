#include "models/architecture/config_keys.hpp"

#include <algorithm>
#include <cctype>
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
  for (const char* size : {"vocab_size", "hidden_size", "n_embd", "d_model", "num_hidden_layers",
                           "n_layer", "num_layers", "intermediate_size", "d_ff",
                           "moe_intermediate_size", "num_attention_heads", "n_head", "num_heads"})
    if (key == size) return true;
  return false;
}

/// Lower case, and words apart by "_".
std::string one_case(const std::string& name) {
  std::string letters;
  for (const char c : name)
    letters += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

std::string digits(const std::string& name) {
  std::string kept;
  for (const char c : name)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) kept += c;
  return kept;
}

/// Letters inserted, left out, changed or swapped with their neighbour, each at most once.
std::size_t slips_between(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1,
                              least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  return least[a.size()][b.size()];
}

/// Whether a value changes anything in files that leave keys out when they do not.
bool says_something(const nlohmann::json& value) {
  return !value.is_null() && value != false && value != 0;
}
}  // namespace

bool is_slip(const std::string& typed, const std::string& meant) {
  constexpr std::size_t shortest = 4, longest = 64, long_name = 14;
  if (typed.size() < shortest || typed.size() > longest) return false;
  const std::string a = one_case(typed), b = one_case(meant);
  return digits(a) == digits(b) && slips_between(a, b) <= (b.size() < long_name ? 1u : 2u);
}

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

void ConfigKeys::join(const ConfigKeys& with_inner) {
  ConfigKeys inner(with_inner);
  inner.refuse_slips();
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

void ConfigKeys::refuse_slips() {
  for (const auto& [key, value] : config_->items()) {
    if (asked(key) || !says_something(value)) continue;
    for (const std::string& meant : asked_)
      if (!config_->contains(meant) && is_slip(key, meant)) {
        complain(key, "no such key", "did you mean \"" + meant + "\"?");
        break;
      }
  }
}

void ConfigKeys::throw_complaints() const {
  if (!complaints_.empty()) throw description::ScenarioError(complaints_);
}

}  // namespace spillway::models
