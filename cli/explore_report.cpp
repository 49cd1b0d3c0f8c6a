#include "cli/explore_report.hpp"

#include "cli/common.hpp"
#include "reports/csv.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <sstream>

namespace spillway::cli {

using explore::PointRow;
using explore::SpaceRow;
using nlohmann::json;

namespace {

std::string shown(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string objective_title(const std::string& path) {
  constexpr std::pair<std::string_view, std::string_view> titles[] = {
      {"throughput.tokens_per_s", "tokens/s"},
      {"step_time_s", "step"},
      {"price_usd", "price"},
      {"wear.lifetime_years", "drives last"},
      {"wear.usd_per_million_tokens", "SSD per 1M tokens"},
      {"peak_bytes.gpu.total", "GPU peak"},
      {"peak_bytes.host.total", "host peak"},
      {"peak_bytes.ssd.total", "SSD peak"},
  };
  for (const auto& [known, title] : titles)
    if (path == known) return std::string(title);
  return path;
}

std::string human_value(const std::string& path, const json& value) {
  if (!value.is_number()) return value.is_null() ? "-" : shown(value);
  const double number = value.get<double>();
  const std::string last = path.substr(path.find_last_of('.') + 1);
  if (last.starts_with("usd_per_")) return fmt::format("${:.3g}", number);
  if (last.ends_with("_usd")) return reports::human_price(number);
  if (last.ends_with("_years")) return reports::human_years(number);
  if (last.ends_with("per_s")) return reports::human_number(number);
  if (last.ends_with("_s")) return reports::human_time(number);
  if (path.starts_with("peak_bytes."))
    return reports::human_memory(static_cast<std::uint64_t>(number));
  return reports::human_number(number);
}

namespace {

/// The smaller the better; what has no value comes last.
double cost(const PointRow& point, const explore::ObjectiveRow& by) {
  const json& value = point.objectives.value(by.path, json());
  constexpr double worst = 1e300;
  if (!value.is_number()) return value == "never" && !by.smaller ? -worst : worst;
  return by.smaller ? value.get<double>() : -value.get<double>();
}

/// By the objectives in their order.
bool better(const PointRow& one, const PointRow& other, const SpaceRow& space) {
  for (const explore::ObjectiveRow& objective : space.objectives) {
    const double a = cost(one, objective), b = cost(other, objective);
    if (a != b) return a < b;
  }
  return false;
}

void sort_best_first(std::vector<PointRow>& points, const SpaceRow& space) {
  std::stable_sort(points.begin(), points.end(), [&](const PointRow& one, const PointRow& other) {
    return better(one, other, space);
  });
}

std::string summary(const SpaceRow& space) {
  const explore::Counts& counts = space.counts;
  std::string text = fmt::format(
      "{}: {} points; {} bounded, {} pruned, {} simulated, {} known before, {} refused, {} "
      "failed\n",
      space.name, reports::human_count(counts.points), reports::human_count(counts.bounded),
      reports::human_count(counts.pruned), reports::human_count(counts.simulated),
      reports::human_count(counts.reused), reports::human_count(counts.refused),
      reports::human_count(counts.failed));
  if (!space.finished) text += "Not finished: the same command goes on.\n";
  return text;
}

/// Whether the space asks how long drives last: then people want to know why.
bool asks_for_wear(const SpaceRow& space) {
  const auto names_it = [](const std::string& text) {
    return text.find("wear.") != std::string::npos;
  };
  return std::any_of(space.constraints.begin(), space.constraints.end(), names_it) ||
         std::any_of(space.objectives.begin(), space.objectives.end(),
                     [&](const explore::ObjectiveRow& one) { return names_it(one.path); });
}

/// Both lifetimes and the amplification behind the second.
std::string wear_cell(explore::Store& store, const PointRow& point) {
  const auto row = store.find(point.key);
  if (!row) return "-";
  const auto number = [&](const char* path) { return row->numbers.value(path, json()); };
  if (!number("wear.warranty_years").is_number() || !number("wear.waf").is_number()) return "-";
  return fmt::format("{}, flash {} (x{:.2f})",
                     human_value("wear.warranty_years", number("wear.warranty_years")),
                     human_value("wear.lifetime_years", number("wear.lifetime_years")),
                     number("wear.waf").get<double>());
}

/// Which program trains a point; "-" where its result does not say.
std::string program_of(explore::Store& store, const PointRow& point) {
  const json found = store.result(point.key);
  if (!found.is_object() || !found.contains("runs_with")) return "-";
  return found["runs_with"].value("program", "-");
}

void print_points(explore::Store& store, const SpaceRow& space,
                  const std::vector<PointRow>& points) {
  const bool wear = asks_for_wear(space);
  reports::Table table;
  table.columns.push_back({"point", reports::Align::right, 0});
  for (const std::string& axis : space.axes)
    table.columns.push_back({axis, reports::Align::left, 28});
  for (const explore::ObjectiveRow& one : space.objectives)
    table.columns.push_back({objective_title(one.path), reports::Align::right, 0});
  if (wear) table.columns.push_back({"warranty of drives", reports::Align::right, 0});
  table.columns.push_back({"runs with", reports::Align::left, 0});
  for (const PointRow& point : points) {
    auto& cells = table.rows.emplace_back();
    cells.emplace_back(std::to_string(point.number));
    for (const std::string& axis : space.axes) cells.emplace_back(shown(point.point.at(axis)));
    for (const explore::ObjectiveRow& one : space.objectives)
      cells.emplace_back(human_value(one.path, point.objectives.value(one.path, json())));
    if (wear) cells.emplace_back(wear_cell(store, point));
    cells.emplace_back(program_of(store, point));
  }
  reports::drop_silent_columns(table);
  print(to_text(table, reports::screen_of(stdout)));
}

json point_json(const PointRow& point) {
  return {{"number", point.number},   {"key", point.key},       {"point", point.point},
          {"verdict", point.verdict}, {"reason", point.reason}, {"objectives", point.objectives},
          {"front", point.front}};
}

void print_rows(const std::vector<PointRow>& points, Form form) {
  std::vector<json> rows;
  for (const PointRow& point : points) rows.push_back(point_json(point));
  if (form == Form::json) return print_json(rows);
  std::ostringstream text;
  reports::write_csv(text, rows);
  print(text.str());
}

}  // namespace

SpaceRow space_row(explore::Store& store, std::int64_t space) {
  for (SpaceRow& row : store.spaces())
    if (row.space == space) return row;
  throw description::InternalError("a space without a row");
}

void print_front(explore::Store& store, std::int64_t number, Form form) {
  const SpaceRow space = space_row(store, number);
  std::vector<PointRow> front = store.points(number, "front");
  sort_best_first(front, space);
  if (form == Form::table) {
    print(summary(space) + "\n");
    if (front.empty())
      return print(fmt::format(
          "No point{} fulfils the constraints; spillway explore show FILE --why says why.\n",
          space.finished ? "" : " so far"));
    return print_points(store, space, front);
  }
  json points = json::array();
  for (const PointRow& point : front)
    points.push_back({{"number", point.number},
                      {"key", point.key},
                      {"point", point.point},
                      {"result", store.result(point.key)}});
  if (form == Form::csv) {
    std::vector<json> rows;
    for (const json& point : points) {
      rows.push_back(point["result"].is_object() ? point["result"] : json::object());
      rows.back()["point"] = point["point"];
      rows.back()["key"] = point["key"];
      rows.back()["number"] = point["number"];
    }
    std::ostringstream text;
    reports::write_csv(text, rows);
    return print(text.str());
  }
  const explore::Counts& counts = space.counts;
  print_json({{"space", space.name},
              {"points", counts.points},
              {"bounded", counts.bounded},
              {"pruned", counts.pruned},
              {"simulated", counts.simulated},
              {"reused", counts.reused},
              {"refused", counts.refused},
              {"failed", counts.failed},
              {"finished", space.finished},
              {"front", points}});
}

void print_groups(explore::Store& store, std::int64_t number, const std::string& axis, Form form) {
  const SpaceRow space = space_row(store, number);
  if (std::find(space.axes.begin(), space.axes.end(), axis) == space.axes.end())
    refuse("--best-per", "no axis \"" + axis + "\"",
           fmt::format("known: {}", fmt::join(space.axes, ", ")));
  std::map<std::string, PointRow> best;
  for (PointRow& point : store.points(number, "verdict = 'accepted'")) {
    const std::string group = shown(point.point.at(axis));
    const auto known = best.find(group);
    if (known == best.end() || better(point, known->second, space))
      best.insert_or_assign(group, std::move(point));
  }
  std::vector<PointRow> points;
  for (auto& [group, point] : best) points.push_back(std::move(point));
  sort_best_first(points, space);
  if (form != Form::table) return print_rows(points, form);
  print(fmt::format("{}: the best {} for each {}\n\n", space.name,
                    objective_title(space.objectives.front().path), axis));
  print_points(store, space, points);
}

void print_reasons(explore::Store& store, std::int64_t number, Form form) {
  const std::vector<PointRow> points = store.points(number, "verdict <> 'accepted'");
  if (form != Form::table) return print_rows(points, form);
  struct Group {
    std::uint64_t count = 0;
    const PointRow* example = nullptr;
  };
  // numbers differ from point to point: what comes before them is what groups have in common
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const PointRow& point : points) {
    const std::size_t cut = std::min(point.reason.find(": peak"), point.reason.find(" asks for "));
    const std::size_t colon =
        point.verdict == "rejected" ? point.reason.find(':') : std::string::npos;
    Group& group = groups[{point.verdict, point.reason.substr(0, std::min(cut, colon))}];
    if (++group.count == 1) group.example = &point;
  }
  reports::Table table;
  table.columns = {{"points", reports::Align::right, 0},
                   {"verdict", reports::Align::left, 0},
                   {"one of them", reports::Align::left, 40},
                   {"why that one", reports::Align::left, 0}};
  for (const auto& [unused, group] : groups)
    table.rows.push_back({reports::human_count(group.count), group.example->verdict,
                          group.example->point.dump(), group.example->reason});
  const SpaceRow space = space_row(store, number);
  print(summary(space) + "\n" + to_text(table, reports::screen_of(stdout)));
}

}  // namespace spillway::cli
