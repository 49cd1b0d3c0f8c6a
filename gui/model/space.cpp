#include "gui/model/space.hpp"

#include "gui/model/open_file.hpp"
#include "gui/model/text.hpp"
#include "reports/human.hpp"

#include <algorithm>
#include <set>

namespace spillway::gui {

using nlohmann::json;

namespace {

Cell cell_of(const json& value) {
  if (value.is_number_unsigned())
    return number_cell(qt(reports::human_count(value.get<std::uint64_t>())), value.get<double>());
  if (value.is_number())
    return number_cell(qt(reports::human_number(value.get<double>())), value.get<double>());
  if (value.is_null()) return text_cell("");
  return text_cell(qt(value.is_string() ? value.get<std::string>() : value.dump()));
}

json value_of(const explore::PointRow& point, const std::string& name) {
  for (const json* where : {&point.objectives, &point.point})
    if (where->is_object() && where->contains(name)) return (*where)[name];
  return nullptr;
}

}  // namespace

SpacePoints read_space_points(const std::string& database) {
  SpacePoints read;
  try {
    explore::Store store(database, explore::Database::Access::read);
    const std::vector<explore::SpaceRow> spaces = store.spaces();
    if (spaces.empty()) {
      read.trouble = "the database has no space yet";
      return read;
    }
    read.space = spaces.back();
    read.points = store.points(read.space.space);
  } catch (const std::exception& error) {
    read.trouble = one_sentence(error);
    return read;
  }
  std::set<std::string> with_numbers;
  for (const explore::PointRow& point : read.points) {
    for (const std::string& axis : read.space.axes)
      if (number_of(point, axis)) with_numbers.insert(axis);
    for (const explore::ObjectiveRow& objective : read.space.objectives)
      if (number_of(point, objective.path)) with_numbers.insert(objective.path);
  }
  for (const explore::ObjectiveRow& objective : read.space.objectives)
    if (with_numbers.contains(objective.path)) read.numbers.push_back(objective.path);
  for (const std::string& axis : read.space.axes)
    if (with_numbers.contains(axis)) read.numbers.push_back(axis);
  return read;
}

const explore::PointRow* point_of(const SpacePoints& space, std::uint64_t number) {
  const auto found = std::partition_point(  // the store gives them by number
      space.points.begin(), space.points.end(),
      [number](const explore::PointRow& point) { return point.number < number; });
  return found != space.points.end() && found->number == number ? &*found : nullptr;
}

json scenario_of_point(const std::string& database, const std::string& key) {
  explore::Store store(database, explore::Database::Access::read);
  const json result = store.result(key);
  return result.is_object() ? result.value("scenario", json()) : json();
}

std::optional<double> number_of(const explore::PointRow& point, const std::string& name) {
  const json value = value_of(point, name);
  return value.is_number() ? std::optional<double>(value.get<double>()) : std::nullopt;
}

bool within(const explore::PointRow& point, const Ranges& ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [&point](const auto& range) {
    const auto value = number_of(point, range.first);
    return value && range.second.holds(*value);
  });
}

void put_points(const SpacePoints& space, const QString& filter, bool only_front, TextTable& table,
                const Ranges& ranges) {
  std::vector<QString> headers = {"Point", "Verdict"};
  for (const explore::ObjectiveRow& objective : space.space.objectives)
    headers.push_back(qt(objective.path));
  for (const std::string& axis : space.space.axes) headers.push_back(qt(axis));
  headers.push_back("Why not");
  const QStringList words = filter.split(' ', Qt::SkipEmptyParts);
  std::vector<std::vector<Cell>> rows;
  for (const explore::PointRow& point : space.points) {
    if ((only_front && !point.front) || !within(point, ranges)) continue;
    std::vector<Cell> row = {
        number_cell(QString::number(point.number), static_cast<double>(point.number)),
        text_cell(point.front ? QString("front") : qt(point.verdict))};
    row[1].mood = point.front ? Cell::Mood::good : Cell::Mood::plain;
    for (const explore::ObjectiveRow& objective : space.space.objectives)
      row.push_back(cell_of(value_of(point, objective.path)));
    for (const std::string& axis : space.space.axes) row.push_back(cell_of(value_of(point, axis)));
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
