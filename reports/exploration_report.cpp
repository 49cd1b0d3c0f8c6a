#include "reports/exploration_report.hpp"

#include "reports/human.hpp"
#include "reports/objectives.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::reports {

using answer::Point;
using answer::Space;
using nlohmann::json;

namespace {

std::string shown(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string summary(const Space& space) {
  std::string text = fmt::format(
      "{}: {} points; {} bounded, {} pruned, {} simulated, {} known before, {} refused, {} "
      "failed\n",
      space.name, human_count(space.points), human_count(space.bounded), human_count(space.pruned),
      human_count(space.simulated), human_count(space.reused), human_count(space.refused),
      human_count(space.failed));
  if (!space.finished) text += "Not finished: the same command goes on.\n";
  return text;
}

/// Both lifetimes and the amplification behind the second.
std::string wear_cell(const json& wear) {
  const auto number = [&](const char* path) {
    return wear.is_object() ? wear.value(path, json()) : json();
  };
  if (!number("wear.warranty_years").is_number() || !number("wear.waf").is_number()) return "-";
  return fmt::format("{}, flash {} (x{:.2f})",
                     human_value("wear.warranty_years", number("wear.warranty_years")),
                     human_value("wear.lifetime_years", number("wear.lifetime_years")),
                     number("wear.waf").get<double>());
}

std::string points_table(const Space& space, const std::vector<Point>& points,
                         const Screen& screen) {
  const bool wear = std::any_of(points.begin(), points.end(),
                                [](const Point& point) { return !point.wear.is_null(); });
  Table table;
  table.columns.push_back({"point", Align::right, 0});
  for (const std::string& axis : space.axes) table.columns.push_back({axis, Align::left, 28});
  for (const answer::Objective& one : space.objectives)
    table.columns.push_back({objective_title(one.path), Align::right, 0});
  if (wear) table.columns.push_back({"warranty of drives", Align::right, 0});
  table.columns.push_back({"runs with", Align::left, 0});
  for (const Point& point : points) {
    auto& cells = table.rows.emplace_back();
    cells.emplace_back(std::to_string(point.number));
    for (const std::string& axis : space.axes)
      cells.emplace_back(shown(point.point.value(axis, json())));
    for (const answer::Objective& one : space.objectives)
      cells.emplace_back(human_value(one.path, point.objectives.value(one.path, json())));
    if (wear) cells.emplace_back(wear_cell(point.wear));
    cells.emplace_back(point.program.empty() ? "-" : point.program);
  }
  drop_silent_columns(table);
  return to_text(table, screen);
}

}  // namespace

std::string front_report(const answer::Front& front, const Screen& screen) {
  std::string text = summary(front.space) + "\n";
  if (!front.points.empty()) return text + points_table(front.space, front.points, screen);
  return text +
         fmt::format(
             "No point{} fulfils the constraints; spillway explore show FILE --why says why.\n",
             front.space.finished ? "" : " so far");
}

std::string groups_report(const answer::Groups& groups, const Screen& screen) {
  return fmt::format("{}: the best {} for each {}\n\n", groups.space.name,
                     objective_title(groups.space.objectives.front().path), groups.axis) +
         points_table(groups.space, groups.points, screen);
}

std::string reasons_report(const answer::Reasons& reasons, const Screen& screen) {
  Table table;
  table.columns = {{"points", Align::right, 0},
                   {"verdict", Align::left, 0},
                   {"one of them", Align::left, 40},
                   {"why that one", Align::left, 0}};
  for (const answer::ReasonGroup& group : reasons.groups)
    table.rows.push_back({human_count(group.count), group.example.verdict,
                          group.example.point.dump(), group.example.reason});
  return summary(reasons.space) + "\n" + to_text(table, screen);
}

}  // namespace spillway::reports
