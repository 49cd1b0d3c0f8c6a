#pragma once

#include "scenarios/json/located_json.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spillway::scenarios {

/// How a simulated value must stand to the published one.
enum class Relation { equal, at_least, at_most };

/// One number of a paper and what to simulate to compare with it (FORMATS, "Published figures").
struct Figure {
  std::string id;      ///< "memascend.qwen7b.peak.memascend"; the paper is before the first dot
  std::string source;  ///< paper, section, figure
  std::map<std::string, LocatedJson> setups;  ///< scenarios by their name in `metric`
  std::string metric;                         ///< arithmetic over `<setup>.<path of a result>`
  double value = 0;                           ///< in `unit`
  std::string unit;
  bool truth = false;  ///< yes or no, as 1 or 0: the unit says so
  double scale = 1;    ///< base units per `unit`: 2^30 for GiB, 1 for percent and ratios
  Relation relation = Relation::equal;
  double tolerance = 0;                      ///< relative
  bool fit = false;                          ///< else nothing was fitted on it
  std::map<std::string, std::string> words;  ///< path of a result -> the word it must hold
  std::vector<std::string> fits;             ///< machine parameters it may move: "host.adam"
  std::vector<std::string> chosen;  ///< settings chosen on it: "strategy.optimizer.subgroup"
  std::string note;
  Place place, metric_place;

  std::string paper() const { return id.substr(0, id.find('.')); }
};

/// A figure that is known not to be met, or to be beyond the tolerance common to its kind.
struct OpenFigure {
  std::string id;
  std::optional<double> simulated;  ///< in the figure's unit; none: there is no value
  std::string reason;               ///< "" until somebody has found it
  Place place;
  bool established = true;  ///< the reason names what causes the difference
};

/// What is known of figures, each in one of the lists at most.
struct KnownFigures {
  std::vector<OpenFigure> open;    ///< outside their own tolerance
  std::vector<OpenFigure> beyond;  ///< within it, but not within the one common to their kind
};

/// The files of figures that ship: scenarios/published/*.json, sorted.
std::vector<std::string> published_files();

/// The list of open figures that ships: tests/fidelity/open.json; it need not exist.
std::string open_figures_file();

/// The list of figures beyond the common tolerance: tests/fidelity/beyond.json; it need not exist.
std::string beyond_figures_file();

/// Reads files of figures, each a list. A setup that is a text is a path relative to its file.
///   Throws  ScenarioError with everything that is wrong: the schema's complaints, an id that
///           stands twice, a setup that cannot be read, an unknown unit, a `fit` that names nothing
///           it may have moved
std::vector<Figure> read_figures(const std::vector<std::string>& files);

/// Reads a list of open figures, or of figures beyond the common tolerance.
///   Throws  ScenarioError as read_figures
std::vector<OpenFigure> read_open_figures(const std::string& file);

/// The list as read_open_figures reads it, one entry a line.
std::string write_open_figures(const std::vector<OpenFigure>& figures);

}  // namespace spillway::scenarios
