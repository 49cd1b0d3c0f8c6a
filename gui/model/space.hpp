#pragma once

#include "explore/store/store.hpp"
#include "gui/model/dimension.hpp"
#include "gui/model/text_table.hpp"

#include <QString>

#include <string>
#include <vector>

namespace spillway::gui {

/// The points of one space of a database, as they were read last.
struct SpacePoints {
  explore::SpaceRow space;
  std::vector<explore::PointRow> points;
  /// What charts can show: objectives, then axes; those of which no point has a value are left out.
  std::vector<Dimension> dimensions;
  /// By dimension, then by point; not a number where a point has none.
  std::vector<std::vector<double>> values;
  std::string trouble;  ///< why there is nothing
};

/// The space that was begun last. Opens the file to read alone, and lets go of it again.
SpacePoints read_space_points(const std::string& database);

/// The point of that number; nullptr without one.
const explore::PointRow* point_of(const SpacePoints& space, std::uint64_t number);

/// The whole scenario of a point: that of its result, which a database keeps of those on a front,
/// else the base of its space with what its axes set.
///   Throws  ScenarioError: the database is of an older program, which kept no base; DeviceError
nlohmann::json scenario_of_point(const std::string& database, std::int64_t space,
                                 const explore::PointRow& point);

/// By point, 1 where it lies in all ranges; one without a number lies in none.
std::vector<char> within(const SpacePoints& space, const Ranges& ranges);

/// Points with their axes, objectives, verdicts and why they are not on the front.
///   filter  words that a row must hold
void put_points(const SpacePoints& space, const QString& filter, bool only_front, TextTable& table,
                const Ranges& ranges = {});

/// "512 points: 12 bounded, 400 simulated, 3 on the front; finished".
QString counts_words(const SpacePoints& space);

}  // namespace spillway::gui
