#include "reports/exploration/exploration_report.hpp"

#include "reports/exploration/objectives.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"
#include "reports/words/wear_words.hpp"

#include <algorithm>

namespace spillway::reports {

using answer::Point;
using answer::Space;
using nlohmann::json;
using view::Document;
using view::filled;
using view::Paragraph;
using view::Text;

namespace {

/// Adds a sentence that text keeps on one line.
void add_line(Document& document, Text text, bool joined) {
  document.add(Paragraph{.text = std::move(text), .wraps = false}, joined);
}

/// Adds what became of the points.
void add_summary(Document& document, const Space& space) {
  if (space.points == 0 && !space.finished) {
    add_line(document,
             space.name +
                 ": nobody has explored it here; what is shown are the fronts of the "
                 "databases that were merged, each of its own points. To explore the "
                 "space into this database judges all of them together, and simulates "
                 "none again.",
             true);
    return;
  }
  add_line(
      document,
      filled("{}: {} points; {} bounded, {} pruned, {} simulated, {} known before, {} refused, "
             "{} failed",
             {space.name, view::count(space.points), view::count(space.bounded),
              view::count(space.pruned), view::count(space.simulated), view::count(space.reused),
              view::count(space.refused), view::count(space.failed)}),
      true);
  if (!space.finished) add_line(document, "Not finished: the same command goes on.", true);
  if (space.failed > 0)
    add_line(document,
             filled("{} points could not be simulated and are not known; the same command tries "
                    "them again.",
                    {view::count(space.failed)}),
             true);
}

/// Both lifetimes and the amplification behind the second.
Text wear_cell(const json& wear) {
  const auto number = [&](const char* path) {
    return wear.is_object() ? wear.value(path, json()) : json();
  };
  const json warranty = number("wear.warranty_years"), lifetime = number("wear.lifetime_years");
  const json waf = number("wear.waf");
  if (!warranty.is_number() || !waf.is_number()) return "-";
  return filled("{}, flash {} ({})", {objective_text("wear.warranty_years", warranty),
                                      objective_text("wear.lifetime_years", lifetime),
                                      view::number(waf.get<double>(), view::Quantity::factor)});
}

Table points_table(const Space& space, const std::vector<Point>& points) {
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
    cells.emplace_back(view::plain(static_cast<double>(point.number)));
    for (const std::string& axis : space.axes)
      cells.emplace_back(axis_text(point.point.value(axis, json())));
    for (const answer::Objective& one : space.objectives)
      cells.emplace_back(objective_text(one.path, point.objectives.value(one.path, json())));
    if (wear) cells.emplace_back(wear_cell(point.wear));
    cells.emplace_back(point.program.empty() ? "-" : point.program);
  }
  drop_silent_columns(table);
  return table;
}

Table reasons_table(const answer::Reasons& reasons) {
  Table table;
  table.columns = {{"points", Align::right, 0},
                   {"verdict", Align::left, 0},
                   {"one of them", Align::left, 40},
                   {"why that one", Align::left, 0}};
  for (const answer::ReasonGroup& group : reasons.groups)
    table.rows.push_back({view::count(group.count), group.example.verdict,
                          group.example.point.dump(), group.example.reason});
  return table;
}

Table repriced_table(const answer::RepricedFront& found) {
  Table table;
  table.columns.push_back({"point", Align::right, 0});
  for (const std::string& axis : found.axes) table.columns.push_back({axis, Align::left, 28});
  for (const std::string& path : found.objectives)
    if (path != "price_usd") table.columns.push_back({objective_title(path), Align::right, 0});
  table.columns.push_back({"price now", Align::right, 0});
  table.columns.push_back({"price then", Align::right, 0});
  for (const auto& [point, price_usd, old_price_usd] : found.front) {
    auto& cells = table.rows.emplace_back();
    cells.emplace_back(view::plain(static_cast<double>(point.number)));
    for (const std::string& axis : found.axes)
      cells.emplace_back(axis_text(point.point.value(axis, json())));
    for (const std::string& path : found.objectives)
      if (path != "price_usd")
        cells.emplace_back(objective_text(path, point.objectives.value(path, json())));
    cells.emplace_back(view::dollars(price_usd));
    cells.emplace_back(view::dollars(old_price_usd));
  }
  return table;
}

/// What the answer leaves out.
Text reservations(const answer::RepricedFront& found) {
  Text text =
      filled("{} points fulfil the constraints at these prices", {view::count(found.points)});
  if (found.joined > 0) text += filled(", {} of them only now", {view::count(found.joined)});
  text += ".";
  if (found.unknown > 0)
    text += filled(" {} are left out, whose constraints name what the database does not hold.",
                   {view::count(found.unknown)});
  if (found.pruned > 0)
    text += filled(
        " {} were pruned at the old prices and never simulated: exploring with the same --price "
        "looks at them.",
        {view::count(found.pruned)});
  return text;
}

/// Where memory is an axis and the price an objective.
Text free_memory(const answer::Front& front) {
  const auto& axes = front.space.axes;
  const bool varies = std::find(axes.begin(), axes.end(), "machine.host.memory") != axes.end();
  const bool priced = std::any_of(
      front.space.objectives.begin(), front.space.objectives.end(),
      [](const answer::Objective& one) { return one.path.find("usd") != std::string::npos; });
  const json& result = front.points.front().result;
  if (!varies || !priced || !result.is_object() || !result.contains("scenario")) return {};
  return memory_without_price(result.at("scenario"));
}

}  // namespace

Document front_document(const answer::Front& front) {
  Document document;
  document.title = front.space.name;
  add_summary(document, front.space);
  if (!front.points.empty()) {
    document.add(points_table(front.space, front.points));
    return document.say(free_memory(front));
  }
  add_line(
      document,
      front.space.finished
          ? "No point fulfils the constraints; spillway explore show FILE --why says why."
      : front.space.failed > 0
          ? "No point is on the front so far; spillway explore show FILE --why says what became "
            "of each."
          : "No point is on the front so far, which is drawn up now and then while a search "
            "runs; spillway explore show FILE --why says what became of each.",
      false);
  return document;
}

std::string front_report(const answer::Front& front, const Screen& screen) {
  return to_text(front_document(front), screen);
}

Document groups_document(const answer::Groups& groups) {
  Document document;
  document.title = groups.space.name;
  add_line(document,
           filled("{}: the best {} for each {}",
                  {groups.space.name, objective_title(groups.space.objectives.front().path),
                   groups.axis}),
           false);
  return document.add(points_table(groups.space, groups.points));
}

std::string groups_report(const answer::Groups& groups, const Screen& screen) {
  return to_text(groups_document(groups), screen) + (groups.points.empty() ? "\n" : "");
}

Document repriced_document(const answer::RepricedFront& front) {
  Document document;
  document.title = front.space + " at other prices";
  document.add(repriced_table(front));
  return document.add(view::Paragraph{" " + reservations(front)}, true);
}

std::string repriced_report(const answer::RepricedFront& front, const Screen& screen) {
  return to_text(repriced_document(front), screen);
}

Document reasons_document(const answer::Reasons& reasons) {
  Document document;
  document.title = reasons.space.name;
  add_summary(document, reasons.space);
  return document.add(reasons_table(reasons));
}

std::string reasons_report(const answer::Reasons& reasons, const Screen& screen) {
  const std::string text = to_text(reasons_document(reasons), screen);
  // nothing to tell is told by a table without rows
  return reasons.groups.empty() ? text + "\n" + to_text(reasons_table(reasons), screen) : text;
}

}  // namespace spillway::reports
