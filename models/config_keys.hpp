#pragma once

#include "scenarios/description/errors.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spillway::models {

/// Typed look-ups in one config.json; collects what is wrong instead of stopping at the first.
class ConfigKeys {
 public:
  ConfigKeys(const nlohmann::json& config, std::string file);

  /// A whole number >= `least`; missing or null: `otherwise`.
  std::uint64_t count(const char* key, std::uint64_t otherwise, std::uint64_t least = 1);
  /// A boolean; missing or null: `otherwise`.
  bool flag(const char* key, bool otherwise);
  /// A string; missing or null: `otherwise`.
  std::string text(const char* key, const std::string& otherwise);

  /// A number > 0; missing or null: `otherwise`.
  double positive(const char* key, double otherwise);

  void complain(const char* key, std::string message, std::string hint = "");
  /// Throws ScenarioError with everything collected, if there is anything.
  void throw_complaints() const;

 private:
  const nlohmann::json* find(const char* key) const;

  const nlohmann::json& config_;
  std::string file_;
  std::vector<description::Complaint> complaints_;
};

}  // namespace spillway::models
