#include "scenarios/reading/read_figures.hpp"

#include "scenarios/description/data_files.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>

namespace spillway::scenarios {

using description::Complaint;
using description::Dimension;
using description::ScenarioError;
using nlohmann::json;

namespace {

/// Units in which results are already written.
constexpr std::array<const char*, 8> plain_units = {"1",      "1 = true", "bool",  "percent",
                                                    "TFLOPS", "ratio",    "years", "s"};

/// Base units in one `unit`; none when there is no such unit.
std::optional<double> scale_of(const std::string& unit) {
  if (std::find(plain_units.begin(), plain_units.end(), unit) != plain_units.end()) return 1;
  for (const Dimension dimension : {Dimension::bytes, Dimension::bytes_per_second}) {
    const auto parsed = description::parse_quantity(dimension, "1 " + unit);
    if (parsed.problem.empty()) return static_cast<double>(parsed.value);
  }
  return std::nullopt;
}

std::vector<std::string> texts(const json& entry, const char* key) {
  return entry.contains(key) ? entry[key].get<std::vector<std::string>>()
                             : std::vector<std::string>{};
}

Relation relation_of(const json& entry) {
  const std::string text = entry.value("relation", "==");
  return text == ">=" ? Relation::at_least : text == "<=" ? Relation::at_most : Relation::equal;
}

/// Reads the figures of one file, which passed the schema.
class FigureReader {
 public:
  FigureReader(const LocatedJson& document, std::map<std::string, Place>& ids,
               std::vector<Complaint>& complaints)
      : document_(document), ids_(ids), complaints_(complaints) {}

  Figure read(std::size_t index) {
    const std::string pointer = pointer_to("", std::to_string(index));
    const json& entry = *document_.find(pointer);
    Figure figure;
    figure.id = entry["id"];
    figure.source = entry["source"];
    figure.metric = entry["metric"];
    figure.value = entry["value"];
    figure.tolerance = entry["tolerance"];
    figure.relation = relation_of(entry);
    figure.fit = entry["role"] == "fit";
    figure.fits = texts(entry, "fits");
    figure.chosen = texts(entry, "chosen");
    figure.note = entry.value("note", "");
    if (entry.contains("words")) entry["words"].get_to(figure.words);
    figure.place = document_.place(pointer);
    figure.metric_place = document_.place(pointer + "/metric");
    check_id(figure, pointer);
    read_unit(figure, entry, pointer);
    check_role(figure, pointer);
    for (const auto& [name, unused] : entry["setups"].items())
      read_setup(figure, name, pointer_to(pointer + "/setups", name));
    return figure;
  }

 private:
  void complain(const std::string& pointer, const std::string& message, const std::string& hint) {
    const Place place = document_.place(pointer);
    complaints_.push_back({place.file, place.line, place.column, dotted(pointer), message, hint});
  }

  void check_id(const Figure& figure, const std::string& pointer) {
    const auto [first, fresh] = ids_.emplace(figure.id, document_.place(pointer + "/id"));
    if (!fresh)
      complain(pointer + "/id", "\"" + figure.id + "\" stands twice",
               fmt::format("it stands in {}:{} too", first->second.file, first->second.line));
  }

  void read_unit(Figure& figure, const json& entry, const std::string& pointer) {
    figure.unit = entry["unit"];
    figure.truth = figure.unit == "bool" || figure.unit == "1 = true";
    const auto scale = scale_of(figure.unit);
    if (!scale)
      complain(pointer + "/unit", "no unit \"" + figure.unit + "\"",
               fmt::format("known: {}, and bytes or rates such as GiB, GB/s",
                           fmt::join(plain_units, ", ")));
    figure.scale = scale.value_or(1);
  }

  void check_role(const Figure& figure, const std::string& pointer) {
    const bool moved = !figure.fits.empty() || !figure.chosen.empty();
    if (figure.fit && !moved)
      complain(pointer, "a fit says what was fitted on it",
               "name machine parameters in \"fits\" or settings in \"chosen\"");
    if (!figure.fit && moved)
      complain(pointer, "nothing is fitted on a check", "drop \"fits\" and \"chosen\"");
  }

  void read_setup(Figure& figure, const std::string& name, const std::string& pointer) {
    const json& setup = *document_.find(pointer);
    if (!setup.is_string()) {
      figure.setups[name] = part_of(document_, pointer);
      return;
    }
    const std::filesystem::path folder =
        std::filesystem::path(document_.place(pointer).file).parent_path();
    const std::string file = (folder / setup.get<std::string>()).string();
    std::error_code error;  // what cannot be looked at cannot be read
    if (!std::filesystem::is_regular_file(file, error))
      return complain(pointer, "no file \"" + file + "\"",
                      "write the path of a scenario, relative to this file");
    try {
      figure.setups[name] = read_located(file);
    } catch (const ScenarioError& failure) {
      complaints_.insert(complaints_.end(), failure.complaints().begin(),
                         failure.complaints().end());
    }
  }

  const LocatedJson& document_;
  std::map<std::string, Place>& ids_;
  std::vector<Complaint>& complaints_;
};

void stop_when_wrong(std::vector<Complaint>& complaints) {
  if (complaints.empty()) return;
  tidy(complaints);
  throw ScenarioError(complaints);
}

}  // namespace

std::vector<std::string> published_files() {
  std::vector<std::string> files;
  for (const std::string& name : shipped_names("scenarios/published"))
    files.push_back(shipped_file("scenarios/published", name));
  return files;
}

std::string open_figures_file() {
  return (description::data_root() / "tests/fidelity/open.json").string();
}

std::string beyond_figures_file() {
  return (description::data_root() / "tests/fidelity/beyond.json").string();
}

std::vector<Figure> read_figures(const std::vector<std::string>& files) {
  std::vector<Figure> figures;
  std::vector<Complaint> complaints;
  std::map<std::string, Place> ids;
  for (const std::string& file : files) {
    const LocatedJson document = read_located(file);
    const std::vector<Complaint> found = check_schema(document, "figures");
    complaints.insert(complaints.end(), found.begin(), found.end());
    if (!found.empty()) continue;
    FigureReader reader(document, ids, complaints);
    for (std::size_t i = 0; i < document.value.size(); ++i) figures.push_back(reader.read(i));
  }
  stop_when_wrong(complaints);
  return figures;
}

std::vector<OpenFigure> read_open_figures(const std::string& file) {
  const LocatedJson document = read_located(file);
  std::vector<Complaint> complaints = check_schema(document, "open_figures");
  stop_when_wrong(complaints);
  std::vector<OpenFigure> figures;
  for (std::size_t i = 0; i < document.value.size(); ++i) {
    const json& entry = document.value[i];
    OpenFigure figure{entry["id"], std::nullopt, entry["reason"],
                      document.place(pointer_to("", std::to_string(i)))};
    figure.established = entry.value("established", true);
    if (entry["simulated"].is_number()) figure.simulated = entry["simulated"].get<double>();
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::string write_open_figures(const std::vector<OpenFigure>& figures) {
  std::string text = "[\n";
  for (const OpenFigure& figure : figures) {
    const json simulated = figure.simulated ? json(*figure.simulated) : json();
    text += fmt::format("  {{ \"id\": {}, \"simulated\": {},{}\n    \"reason\": {} }}{}\n",
                        json(figure.id).dump(), simulated.dump(),
                        figure.established ? "" : " \"established\": false,",
                        json(figure.reason).dump(), &figure == &figures.back() ? "" : ",");
  }
  return text + "]\n";
}

}  // namespace spillway::scenarios
