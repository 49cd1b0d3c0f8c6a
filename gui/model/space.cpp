#include "gui/model/space.hpp"

#include "gui/model/open_file.hpp"
#include "gui/model/text.hpp"
#include "reports/exploration/objectives.hpp"
#include "reports/words/human.hpp"
#include "scenarios/document/document.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace spillway::gui {

using nlohmann::json;

namespace {

json value_of(const explore::PointRow& point, const std::string& name) {
  for (const json* where : {&point.objectives, &point.point})
    if (where->is_object() && where->contains(name)) return (*where)[name];
  return nullptr;
}

/// An axis of an older database has the values that its points have.
std::vector<json> values_in(const std::vector<explore::PointRow>& points, const std::string& axis) {
  std::vector<json> values;
  for (const explore::PointRow& point : points)
    if (json value = value_of(point, axis); !value.is_null())
      if (std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(std::move(value));
  return values;
}

/// Finds numbers of one dimension's values; words are looked up once each.
class Reader {
 public:
  explicit Reader(const Dimension& dimension) : dimension_(dimension) {}

  double of(const json& value) {
    if (value.is_number() && !dimension_.of_words()) return value.get<double>();
    if (value.is_null()) return nothing;
    const auto [known, fresh] = known_.try_emplace(value.dump(), nothing);
    if (fresh) known->second = number_of(dimension_, value).value_or(nothing);
    return known->second;
  }

 private:
  static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  const Dimension& dimension_;
  std::map<std::string, double> known_;
};

/// Adds it with its numbers, where any point has one.
void add_dimension(SpacePoints& space, Dimension dimension) {
  std::vector<double> values;
  values.reserve(space.points.size());
  Reader reader(dimension);
  for (const explore::PointRow& point : space.points)
    values.push_back(reader.of(value_of(point, dimension.path)));
  const bool any = std::any_of(values.begin(), values.end(), [](double v) { return v == v; });
  if (!any) return;
  space.dimensions.push_back(std::move(dimension));
  space.values.push_back(std::move(values));
}

/// Two of one title are told apart by their paths.
void tell_apart(std::vector<Dimension>& dimensions) {
  std::map<QString, int> count;
  for (const Dimension& one : dimensions) ++count[one.title];
  for (Dimension& one : dimensions)
    if (count[one.title] > 1) one.title = qt(one.path);
}

Cell cell_of(const explore::PointRow& point, const Dimension& dimension, bool is_axis) {
  const json value = value_of(point, dimension.path);
  if (value.is_null()) return text_cell("");
  const auto number = number_of(dimension, value);
  const QString text = qt(view::words(is_axis ? reports::axis_text(value)
                                              : reports::objective_text(dimension.path, value)));
  return number && !dimension.of_words() ? number_cell(text, *number) : text_cell(text);
}

/// The overrides that make a value of an axis.
std::vector<std::string> overrides_of(explore::Store& store, std::int64_t space,
                                      const std::string& axis, const json& value) {
  for (const explore::AxisValueRow& row : store.axis_values(space, axis))
    if (row.value == value) return row.overrides;
  throw description::ScenarioError(
      {{"", 0, 0, axis, "the database does not say what makes " + value.dump(), ""}});
}

}  // namespace

SpacePoints read_space_points(const std::string& database) {
  SpacePoints read;
  try {
    explore::Store store(database, explore::Database::Access::read);
    const std::vector<explore::SpaceRow> spaces = store.spaces();
    if (spaces.empty()) {
      read.trouble = "the database holds no search space yet";
      return read;
    }
    read.space = spaces.back();
    read.points = store.points(read.space.space);
    for (const explore::ObjectiveRow& one : read.space.objectives)
      add_dimension(read, {one.path, title_of(one.path), quantity_of(qt(one.path))});
    for (const std::string& axis : read.space.axes) {
      std::vector<json> values;
      for (const explore::AxisValueRow& row : store.axis_values(read.space.space, axis))
        values.push_back(row.value);
      if (values.empty()) values = values_in(read.points, axis);
      add_dimension(read, axis_of(axis, values));
    }
  } catch (const std::exception& error) {
    read = SpacePoints();
    read.trouble = one_sentence(error);
  }
  tell_apart(read.dimensions);
  return read;
}

const explore::PointRow* point_of(const SpacePoints& space, std::uint64_t number) {
  const auto found = std::partition_point(  // the store gives them by number
      space.points.begin(), space.points.end(),
      [number](const explore::PointRow& point) { return point.number < number; });
  return found != space.points.end() && found->number == number ? &*found : nullptr;
}

json scenario_of_point(const std::string& database, std::int64_t space,
                       const explore::PointRow& point) {
  explore::Store store(database, explore::Database::Access::read);
  if (const json result = store.result(point.key); result.is_object())
    if (json scenario = result.value("scenario", json()); scenario.is_object()) return scenario;
  const json base = store.base(space);
  if (base.is_null())
    throw description::ScenarioError(
        {{database, 0, 0, "",
          "an older program filled it, which kept the scenarios of the front alone",
          "search on in it: that adds what the others start from"}});
  std::vector<std::string> overrides;
  for (const auto& [axis, value] : point.point.items())
    for (std::string& one : overrides_of(store, space, axis, value))
      overrides.push_back(std::move(one));
  const scenarios::Document document =
      scenarios::assemble(scenarios::located_at(base, {}), overrides);
  json scenario = scenarios::standing_alone(document);
  const auto varies = [&overrides](const std::string& part) {
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const std::string& one) { return one.starts_with(part + "."); });
  };
  if (varies("machine")) scenario["machine"] = document.machine.json.value;
  if (varies("model")) scenario["model"] = document.model.json.value;
  return scenario;
}

std::vector<char> within(const SpacePoints& space, const Ranges& ranges) {
  std::vector<char> in(space.points.size(), 1);
  for (std::size_t d = 0; d < space.dimensions.size(); ++d) {
    const auto range = ranges.find(space.dimensions[d].path);
    if (range == ranges.end()) continue;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!range->second.holds(space.values[d][i])) in[i] = 0;
  }
  return in;
}

void put_points(const SpacePoints& space, const QString& filter, bool only_front, TextTable& table,
                const Ranges& ranges) {
  std::vector<QString> headers = {"Point", "Verdict"};
  for (const Dimension& one : space.dimensions) headers.push_back(one.title);
  headers.push_back("Why not");
  const auto is_axis = [&](const Dimension& one) {
    const auto& axes = space.space.axes;
    return std::find(axes.begin(), axes.end(), one.path) != axes.end();
  };
  std::vector<char> axes;
  for (const Dimension& one : space.dimensions) axes.push_back(is_axis(one) ? 1 : 0);
  const QStringList words = filter.split(' ', Qt::SkipEmptyParts);
  const std::vector<char> in = within(space, ranges);
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < space.points.size(); ++i) {
    const explore::PointRow& point = space.points[i];
    if ((only_front && !point.front) || !in[i]) continue;
    std::vector<Cell> row = {
        number_cell(QString::number(point.number), static_cast<double>(point.number)),
        text_cell(point.front ? QString("front") : qt(point.verdict))};
    row[1].mood = point.front ? Cell::Mood::good : Cell::Mood::plain;
    for (std::size_t d = 0; d < space.dimensions.size(); ++d)
      row.push_back(cell_of(point, space.dimensions[d], axes[d] != 0));
    row.push_back(text_cell(qt(point.reason), qt(point.reason)));
    QString all;
    for (const Cell& cell : row) all += cell.text + " ";
    const bool shown = std::all_of(words.begin(), words.end(), [&](const QString& word) {
      return all.contains(word, Qt::CaseInsensitive);
    });
    if (shown) rows.push_back(std::move(row));
  }
  table.set(std::move(headers), std::move(rows));
}

QString counts_words(const SpacePoints& space) {
  if (!space.trouble.empty()) return qt(space.trouble);
  const explore::Counts& counts = space.space.counts;
  const auto front = std::count_if(space.points.begin(), space.points.end(),
                                   [](const explore::PointRow& point) { return point.front; });
  return QString("%1: %2 points, %3 ruled out by bounds, %4 simulated, %5 on the front; %6.")
      .arg(qt(space.space.name), qt(reports::human_count(counts.points)),
           qt(reports::human_count(counts.pruned)),
           qt(reports::human_count(counts.simulated + counts.reused)), QString::number(front),
           space.space.finished ? "finished" : "not finished");
}

}  // namespace spillway::gui
