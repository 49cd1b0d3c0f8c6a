#pragma once

#include "explore/store/store.hpp"
#include "gui/model/text_table.hpp"

#include <QString>

#include <map>
#include <string>
#include <vector>

namespace spillway::gui {

/// The points of one space of a database, as they were read last.
struct SpacePoints {
  explore::SpaceRow space;
  std::vector<explore::PointRow> points;
  std::vector<std::string> numbers;  ///< axes with numbers, then objectives: what charts can show
  std::string trouble;               ///< why there is nothing
};

/// The space that was begun last. Opens the file to read alone, and lets go of it again.
SpacePoints read_space_points(const std::string& database);

/// The point of that number; nullptr without one.
const explore::PointRow* point_of(const SpacePoints& space, std::uint64_t number);

/// The whole scenario of a point, which a database keeps of those on a front; null of others.
///   Throws  ScenarioError, DeviceError
nlohmann::json scenario_of_point(const std::string& database, const std::string& key);

/// The value of an axis or objective of a point.
///   Result  nothing where it has none, or no number
std::optional<double> number_of(const explore::PointRow& point, const std::string& name);

/// Values that are selected, both ends included.
struct Range {
  double from = 0, to = 0;
  bool holds(double value) const { return value >= from && value <= to; }
};
/// By axis or objective.
using Ranges = std::map<std::string, Range>;

/// Whether a point lies in all of them; one without a number lies in none.
bool within(const explore::PointRow& point, const Ranges& ranges);

/// Points with their axes, objectives, verdicts and why they are not on the front.
///   filter  words that a row must hold
void put_points(const SpacePoints& space, const QString& filter, bool only_front, TextTable& table,
                const Ranges& ranges = {});

/// "512 points: 12 bounded, 400 simulated, 3 on the front; finished".
QString counts_words(const SpacePoints& space);

}  // namespace spillway::gui
