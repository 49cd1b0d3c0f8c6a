#pragma once

#include "scenarios/description/errors.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace spillway::models {

/// Whether `typed` is `meant` but for its case, one letter too many, too few, wrong or swapped with
/// its neighbour, and in long names two of them. Numbers in both are the same.
bool is_slip(const std::string& typed, const std::string& meant);

/// Typed look-ups in one config.json; collects what is wrong instead of stopping at the first.
class ConfigKeys {
 public:
  ConfigKeys(const nlohmann::json& config, std::string file, std::string prefix = "");

  /// A whole number >= `least`; missing or null: `otherwise`.
  std::uint64_t count(const char* key, std::uint64_t otherwise, std::uint64_t least = 1);
  /// A whole number that may be 0 or, in files that mean 0 by it, negative or false.
  std::uint64_t count_or_zero(const char* key, std::uint64_t otherwise);
  /// A boolean; missing or null: `otherwise`.
  bool flag(const char* key, bool otherwise);
  /// A string; missing or null: `otherwise`.
  std::string text(const char* key, const std::string& otherwise);
  /// A number > 0; missing or null: `otherwise`.
  double positive(const char* key, double otherwise);
  /// Strings of a list; missing or null: none.
  std::vector<std::string> words(const char* key);
  /// Whole numbers of a list; missing or null: none.
  std::vector<std::uint64_t> counts(const char* key);

  /// Whether the key is there and not null.
  bool has(const char* key) const { return find(key) != nullptr; }
  /// The first of `names` that is there; none: the first of all.
  const char* first_of(std::initializer_list<const char*> names) const;
  /// Look-ups in the object behind `key`, or in nothing; complaints come back with `join`, with
  /// those of slips.
  ConfigKeys inside(const char* key) const;
  void join(const ConfigKeys& inner);

  /// Sizes that were looked up, are not there, and are what the type's class has otherwise.
  const std::map<std::string, std::uint64_t>& taken_sizes() const { return taken_sizes_; }
  /// Whether `key` was looked up.
  bool asked(const std::string& key) const { return asked_.contains(key); }
  /// Complains of each key that says something, was not looked up, and is a slip of one that was
  /// looked up and is not there: what is meant would have been taken as the class has it.
  void refuse_slips();
  void complain(const std::string& key, std::string message, std::string hint = "");
  /// Throws ScenarioError with everything collected, if there is anything.
  void throw_complaints() const;
  const nlohmann::json& json() const { return *config_; }
  const std::string& file() const { return file_; }

 private:
  const nlohmann::json* find(const char* key) const;

  const nlohmann::json* config_;
  std::string file_;
  std::string prefix_;  ///< path of the object, with a dot behind it
  mutable std::set<std::string> asked_;
  std::map<std::string, std::uint64_t> taken_sizes_;  ///< by path
  std::vector<description::Complaint> complaints_;
};

}  // namespace spillway::models
