#include "answers/explore/exploration.hpp"

#include "explore/points/measure.hpp"
#include "explore/points/reasons.hpp"
#include "explore/points/reprice.hpp"
#include "reports/result/reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <map>

namespace spillway::answers {

using description::refuse;
using explore::PointRow;
using explore::SpaceRow;
using nlohmann::json;

namespace {

std::string shown(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

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
json wear_of(explore::Store& store, const PointRow& point) {
  json wear = json::object();
  const auto row = store.find(point.key);
  if (!row) return wear;
  for (const char* path : {"wear.warranty_years", "wear.lifetime_years", "wear.waf"})
    if (row->numbers.contains(path)) wear[path] = row->numbers[path];
  return wear;
}

answer::Point plain(explore::Store& store, const SpaceRow& space, const PointRow& row) {
  answer::Point point;
  point.number = row.number;
  point.key = row.key;
  point.point = row.point;
  point.verdict = row.verdict;
  const auto scenario = row.reason.empty() ? std::nullopt : store.find(row.key);
  point.reason = explore::reason_of(row, scenario ? &*scenario : nullptr, space.constraints);
  point.objectives = row.objectives;
  point.front = row.front;
  return point;
}

/// With what the database holds of them besides.
std::vector<answer::Point> whole(explore::Store& store, const SpaceRow& space,
                                 const std::vector<PointRow>& rows) {
  const bool wear = asks_for_wear(space);
  std::vector<answer::Point> points;
  for (const PointRow& row : rows) {
    answer::Point& point = points.emplace_back(plain(store, space, row));
    if (wear) point.wear = wear_of(store, row);
    point.result = store.result(row.key);
    if (point.result.is_object() && point.result.contains("runs_with"))
      point.program = point.result["runs_with"].value("program", "");
  }
  return points;
}

answer::Space space_of(const SpaceRow& row) {
  answer::Space space;
  space.name = row.name;
  space.axes = row.axes;
  for (const explore::ObjectiveRow& one : row.objectives)
    space.objectives.push_back({one.path, one.smaller});
  space.constraints = row.constraints;
  space.points = row.counts.points;
  space.bounded = row.counts.bounded;
  space.pruned = row.counts.pruned;
  space.simulated = row.counts.simulated;
  space.reused = row.counts.reused;
  space.refused = row.counts.refused;
  space.failed = row.counts.failed;
  space.finished = row.finished;
  return space;
}

/// What the reasons of a group have in common: numbers differ from point to point, and stand behind
/// it.
std::string common_reason(const answer::Point& point) {
  const std::string reason = words(point.reason);
  const std::size_t cut = std::min(reason.find(": peak"), reason.find(" asks for "));
  const std::size_t colon = point.verdict == "rejected" ? reason.find(':') : std::string::npos;
  return reason.substr(0, std::min(cut, colon));
}

}  // namespace

SpaceRow space_row(explore::Store& store, std::int64_t space) {
  for (SpaceRow& row : store.spaces())
    if (row.space == space) return row;
  throw description::InternalError("a space without a row");
}

answer::Front front(explore::Store& store, std::int64_t number) {
  const SpaceRow space = space_row(store, number);
  std::vector<PointRow> rows = store.points(number, "front");
  sort_best_first(rows, space);
  return {space_of(space), whole(store, space, rows)};
}

answer::Groups groups(explore::Store& store, std::int64_t number, const std::string& axis) {
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
  std::vector<PointRow> rows;
  for (auto& [group, point] : best) rows.push_back(std::move(point));
  sort_best_first(rows, space);
  return {space_of(space), axis, whole(store, space, rows)};
}

answer::Reasons reasons(explore::Store& store, std::int64_t number) {
  answer::Reasons answer;
  const SpaceRow space = space_row(store, number);
  answer.space = space_of(space);
  for (const PointRow& row : store.points(number, "verdict <> 'accepted'"))
    answer.points.push_back(plain(store, space, row));
  std::map<std::pair<std::string, std::string>, answer::ReasonGroup> groups;
  for (const answer::Point& point : answer.points) {
    answer::ReasonGroup& group = groups[{point.verdict, common_reason(point)}];
    if (++group.count == 1) group.example = point;
  }
  for (auto& [unused, group] : groups) answer.groups.push_back(std::move(group));
  for (const explore::RuledOut& row : store.ruled_out(number)) {
    answer::ReasonGroup& group = answer.groups.emplace_back();
    group.count = row.points;
    group.example.number = row.number;
    group.example.point = row.point;
    group.example.verdict = "ruled out";
    group.example.reason = row.reason;
  }
  return answer;
}

answer::RepricedFront repriced(explore::Store& store, std::int64_t number,
                               const std::vector<scenarios::Offer>& offers) {
  if (scenarios::hourly_overrides(offers).size() == offers.size())
    refuse("--price", "gpu_hour and kwh are no prices of a machine",
           "spillway simulate --tokens says what a run costs with them");
  const SpaceRow space = space_row(store, number);
  const explore::Repriced found = explore::reprice(store, space, offers);
  if (found.prices == 0 && found.points > 0)
    refuse("--price", "no machine of the space has one of these parts at a price of its own", "");
  answer::RepricedFront answer{space.name,   space.axes,    {},           found.points,
                               found.joined, found.unknown, found.pruned, {}};
  for (const explore::ObjectiveRow& one : space.objectives) answer.objectives.push_back(one.path);
  for (const explore::RepricedPoint& point : found.front)
    answer.front.push_back({plain(store, space, point.row), point.price_usd, point.old_usd});
  std::stable_sort(
      answer.front.begin(), answer.front.end(),
      [](const auto& one, const auto& other) { return one.price_usd < other.price_usd; });
  return answer;
}

answer::Explanation explain(const explore::Backend& backend, explore::Store& store,
                            std::int64_t number, std::uint64_t point) {
  const SpaceRow space = space_row(store, number);
  const auto row = store.point(number, point);
  if (!row)
    refuse("POINT", fmt::format("the database does not know point {}", point),
           "spillway explore show FILE --csv lists the numbers of the front");
  const json stored = store.result(row->key);
  if (!stored.contains("scenario") || stored.contains("failure"))
    refuse("POINT",
           fmt::format("point {} is {}, not on the front{}{}", point, row->verdict,
                       row->reason.empty() ? "" : ": ", row->reason),
           "only points of the front have whole results");
  answer::Explanation answer;
  answer.space = space_of(space);
  answer.point = plain(store, space, *row);
  try {
    answer.result = stored.get<result::Result>();
  } catch (const description::ScenarioError& error) {
    result::complain_below(fmt::format("point {}", point), error);
  }
  std::vector<explore::AxisRow> axes;
  for (const std::string& axis : space.axes)
    axes.push_back({axis, store.axis_values(number, axis)});
  answer.steps =
      explore::next_steps(backend, stored["scenario"], axes, row->point, space.constraints);
  return answer;
}

}  // namespace spillway::answers
