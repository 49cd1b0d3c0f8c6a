#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// Reads values of a ds_config.json by pointer ("/zero_optimization/stage"), remembers which were
/// read and what was wrong. Words and numbers in quotes are taken as pydantic takes them, and keys
/// of zero_optimization by either of their names.
class DeepSpeedKeys {
 public:
  explicit DeepSpeedKeys(const LocatedJson& config) : config_(config) {}

  /// Complains of sections that are no objects, at which DeepSpeed stops.
  void check_sections();
  bool has(std::string pointer);
  /// "auto", or a template's placeholder.
  bool is_auto(std::string pointer);
  /// A whole number from 0 to 1e15, also written 5e8; `automatic` for "auto".
  std::optional<std::uint64_t> count(std::string pointer,
                                     std::optional<std::uint64_t> automatic = std::nullopt);
  std::uint64_t count_or(const std::string& pointer, std::uint64_t otherwise,
                         std::uint64_t automatic);
  bool flag(std::string pointer, bool otherwise);
  double number(std::string pointer, double otherwise);
  std::string text(std::string pointer, const std::string& otherwise);
  /// An offload section's `device`: "none", "cpu" or "nvme".
  std::string device(const std::string& section);

  void complain(const std::string& pointer, const std::string& message,
                const std::string& hint = "");
  const std::vector<description::Complaint>& complaints() const { return complaints_; }
  /// Pointers to the values that nobody read.
  std::vector<std::string> unread() const;
  /// Dotted paths of what a script is to fill in, taken as not set.
  const std::vector<std::string>& placeholders() const { return placeholders_; }
  /// Of a pointer, false for nothing, false, null, 0, "none" and an `enabled` of false.
  bool switched_on(const std::string& pointer) const;
  /// switched_on() of the value and of every section around it.
  bool switched_on_above(const std::string& pointer) const;
  bool is_flag(const std::string& pointer) const;

 private:
  const nlohmann::json* find(std::string& pointer);
  static bool is_placeholder(const nlohmann::json& value);
  bool is_list(const std::string& pointer, const nlohmann::json& value);

  const LocatedJson& config_;
  std::set<std::string> read_;
  std::vector<description::Complaint> complaints_;
  std::vector<std::string> placeholders_;
};

}  // namespace spillway::scenarios
