#pragma once

#include "scenarios/json/located_json.hpp"

#include <optional>
#include <string>
#include <vector>

#include "scenarios/description/quantity.hpp"

namespace spillway::explore {

/// A number of a machine file, found by its path as in `sources`: "storage.nvme.read".
class MachineParameter {
 public:
  /// machine  as its file has it
  ///   Throws  ScenarioError when there is no such number
  MachineParameter(const nlohmann::json& machine, const std::string& path);

  const std::string& path() const { return path_; }
  double value() const { return value_; }  ///< base units
  double most() const { return most_; }    ///< what the schema allows
  /// `value` as a machine file has it, with four digits.
  nlohmann::json written(double value) const;
  /// The same as a person reads it.
  std::string text(double value) const;
  /// "machine.host.adam=0.8 Gparam/s", exact to the last digit.
  std::string override_with(double value) const;
  /// Where it stands in the file.
  const std::string& pointer() const { return pointer_; }

 private:
  nlohmann::json exact(double value) const;

  std::string path_, pointer_;
  std::optional<description::Dimension> dimension_;  ///< none: a plain number
  double value_ = 0, most_ = 0;
};

}  // namespace spillway::explore
