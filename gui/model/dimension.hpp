#pragma once

#include "gui/model/quantity.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spillway::gui {

/// What varies in a space or is judged, as charts show it: an axis or an objective.
struct Dimension {
  std::string path;  ///< "machine.storage.nvme.count"
  QString title;     ///< "drives of nvme"
  Quantity quantity = Quantity::number;
  std::vector<QString> words = {};  ///< of an axis of words, whose numbers count them from 0

  bool of_words() const { return !words.empty(); }
};

/// What a table of tables calls it; the path where nothing is shorter.
QString title_of(const std::string& path);

/// Of an axis, from its values in their order: of words, unless all are numbers or all are
/// quantities of one kind.
Dimension axis_of(const std::string& path, const std::vector<nlohmann::json>& values);

/// A value of an axis or objective as a number.
///   Result  nothing where it is none, or no word of the axis
std::optional<double> number_of(const Dimension& dimension, const nlohmann::json& value);

/// A number of it: "64 GiB", or the word.
QString text_of(const Dimension& dimension, double number);

/// Values that are selected, both ends included.
struct Range {
  double from = 0, to = 0;
  bool holds(double value) const { return value >= from && value <= to; }
};
/// By path.
using Ranges = std::map<std::string, Range>;

/// "drives of nvme from 2 to 4", "system lohan, teraio".
QString words_of(const Dimension& dimension, const Range& range);

}  // namespace spillway::gui
