#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/located_json.hpp"

namespace spillway::scenarios {

/// Reads values of a ds_config.json by pointer ("/zero_optimization/stage"), remembers which were
/// read and what was wrong.
class DeepSpeedKeys {
 public:
  explicit DeepSpeedKeys(const LocatedJson& config) : config_(config) {}

  const nlohmann::json* find(const std::string& pointer);
  bool is_auto(const std::string& pointer);
  /// A whole number from 0 to 1e15, also written 5e8; `automatic` for "auto".
  std::optional<std::uint64_t> count(const std::string& pointer,
                                     std::optional<std::uint64_t> automatic = std::nullopt);
  std::uint64_t count_or(const std::string& pointer, std::uint64_t otherwise,
                         std::uint64_t automatic);
  bool flag(const std::string& pointer, bool otherwise);
  double number(const std::string& pointer, double otherwise);
  std::string text(const std::string& pointer, const std::string& otherwise);
  /// An offload section's `device`: "none", "cpu" or "nvme".
  std::string device(const std::string& section);

  void complain(const std::string& pointer, const std::string& message,
                const std::string& hint = "");
  const std::vector<description::Complaint>& complaints() const { return complaints_; }
  /// Dotted paths of the values that nobody read.
  std::vector<std::string> unread() const;

 private:
  const LocatedJson& config_;
  std::set<std::string> read_;
  std::vector<description::Complaint> complaints_;
};

}  // namespace spillway::scenarios
