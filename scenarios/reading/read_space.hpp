#pragma once

#include "scenarios/reading/read_scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::scenarios {

/// One place of an axis.
struct AxisValue {
  nlohmann::json shown;                ///< what it is called: the value, or the alternative's name
  std::vector<std::string> overrides;  ///< "path=value" that make it
  Place place;
};

/// What varies: a path of the scenario, or a free name whose alternatives set several.
struct Axis {
  std::string name;
  std::vector<AxisValue> values;
  bool alternatives = false;
  Place place;
};

/// An expression as written.
struct Condition {
  std::string text;
  Place place;
};

struct Objective {
  std::string path;  ///< of a result
  bool smaller = true;
  Place place;
};

/// A space file (FORMATS, "Space"), read and checked; axes and objectives in the order of the file.
struct Space {
  std::string name;
  LocatedJson base;
  std::vector<Axis> axes;
  std::vector<Condition> where;
  std::vector<Condition> constraints;
  std::vector<Objective> objectives;
};

/// The most values that one axis may have.
inline constexpr std::size_t most_axis_values = 100'000;

/// Reads a space.
///   Throws  ScenarioError with everything that is wrong: the schema's complaints, a base that is
///           no scenario, an axis without values or over a path that is not there, a range that
///           ends before it starts or mixes units, a value that the scenario's schema refuses, two
///           axes over one path, more than four objectives. What contradicts something only
///           together with other values is left to the points.
Space read_space(const std::string& file, const std::vector<SystemInfo>& systems);

}  // namespace spillway::scenarios
