#include "answers/explore/exploration.hpp"
#include "cli/common.hpp"
#include "cli/explore_report.hpp"
#include "explore/reprice.hpp"
#include "reports/csv.hpp"
#include "reports/objectives.hpp"
#include "reports/table.hpp"
#include "reports/view/text_page.hpp"

#include <algorithm>
#include <sstream>

namespace spillway::cli {

using explore::Repriced;
using explore::RepricedPoint;
using nlohmann::json;
using reports::Align;
using view::filled;
using view::Text;

namespace {

reports::Table table_of(const explore::SpaceRow& space, const Repriced& found) {
  reports::Table table;
  table.columns.push_back({"point", Align::right, 0});
  for (const std::string& axis : space.axes) table.columns.push_back({axis, Align::left, 28});
  for (const explore::ObjectiveRow& one : space.objectives)
    if (one.path != "price_usd") table.columns.push_back({one.path, Align::right, 0});
  table.columns.push_back({"price now", Align::right, 0});
  table.columns.push_back({"price then", Align::right, 0});
  for (const RepricedPoint& point : found.front) {
    auto& cells = table.rows.emplace_back();
    cells.emplace_back(view::plain(static_cast<double>(point.row.number)));
    for (const std::string& axis : space.axes)
      cells.emplace_back(reports::axis_text(point.row.point.at(axis)));
    for (const explore::ObjectiveRow& one : space.objectives)
      if (one.path != "price_usd")
        cells.emplace_back(
            reports::objective_text(one.path, point.row.objectives.value(one.path, json())));
    cells.emplace_back(view::dollars(point.price_usd));
    cells.emplace_back(view::dollars(point.old_usd));
  }
  return table;
}

/// What the answer leaves out.
Text reservations(const Repriced& found) {
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

view::Document repriced_document(const explore::SpaceRow& space, const Repriced& found) {
  view::Document document;
  document.title = space.name + " at other prices";
  document.add(table_of(space, found));
  return document.add(view::Paragraph{" " + reservations(found)}, true);
}

std::vector<json> rows_of(const Repriced& found) {
  std::vector<json> rows;
  for (const RepricedPoint& point : found.front)
    rows.push_back({{"number", point.row.number},
                    {"key", point.row.key},
                    {"point", point.row.point},
                    {"objectives", point.row.objectives},
                    {"price_usd", point.price_usd},
                    {"old_price_usd", point.old_usd}});
  return rows;
}

}  // namespace

void print_repriced(explore::Store& store, std::int64_t number,
                    const std::vector<scenarios::Offer>& offers, Form form) {
  if (scenarios::hourly_overrides(offers).size() == offers.size())
    refuse("--price", "gpu_hour and kwh are no prices of a machine",
           "spillway simulate --tokens says what a run costs with them");
  const explore::SpaceRow space = answers::space_row(store, number);
  Repriced found = reprice(store, space, offers);
  if (found.prices == 0 && found.points > 0)
    refuse("--price", "no machine of the space has one of these parts at a price of its own", "");
  std::stable_sort(found.front.begin(), found.front.end(), [](const auto& one, const auto& other) {
    return one.price_usd < other.price_usd;
  });
  if (form == Form::csv) {
    std::ostringstream text;
    reports::write_csv(text, rows_of(found));
    return print(text.str());
  }
  if (form == Form::json)
    return print_json({{"space", space.name},
                       {"points", found.points},
                       {"joined", found.joined},
                       {"unknown", found.unknown},
                       {"pruned", found.pruned},
                       {"front", rows_of(found)}});
  print(to_text(repriced_document(space, found), reports::screen_of(stdout)));
}

}  // namespace spillway::cli
