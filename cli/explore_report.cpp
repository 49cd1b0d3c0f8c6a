#include "cli/explore_report.hpp"

#include "answers/explore/exploration.hpp"
#include "cli/common.hpp"
#include "cli/monitor.hpp"
#include "reports/exploration/exploration_report.hpp"
#include "reports/run/csv.hpp"
#include "reports/words/table.hpp"

#include <sstream>

namespace spillway::cli {

using nlohmann::json;

namespace {

void print_csv(const std::vector<json>& rows) {
  std::ostringstream text;
  reports::write_csv(text, rows);
  print(text.str());
}

void print_rows(const std::vector<answer::Point>& points, Form form) {
  const std::vector<json> rows = rows_of(points);
  if (form == Form::json) return print_json(rows);
  print_csv(rows);
}

}  // namespace

void print_front(explore::Store& store, std::int64_t space, Form form) {
  const answer::Front front = answers::front(store, space);
  if (form == Form::table) return print(reports::front_report(front, reports::screen_of(stdout)));
  if (form == Form::json) return print_json(front);
  print_csv(rows_of(front));
}

void print_groups(explore::Store& store, std::int64_t space, const std::string& axis, Form form) {
  const answer::Groups groups = answers::groups(store, space, axis);
  if (form != Form::table) return print_rows(groups.points, form);
  print(reports::groups_report(groups, reports::screen_of(stdout)));
}

void print_reasons(explore::Store& store, std::int64_t space, Form form) {
  const answer::Reasons reasons = answers::reasons(store, space);
  if (form != Form::table) return print_rows(reasons.points, form);
  print(reports::reasons_report(reasons, reports::screen_of(stdout)));
}

void print_repriced(explore::Store& store, std::int64_t space,
                    const std::vector<scenarios::Offer>& offers, Form form) {
  const answer::RepricedFront front = answers::repriced(store, space, offers);
  if (form == Form::table)
    return print(reports::repriced_report(front, reports::screen_of(stdout)));
  if (form == Form::json) return print_json(front);
  print_csv(rows_of(front));
}

void print_explanation(explore::Store& store, std::int64_t space, std::uint64_t number, Form form,
                       double limit_s) {
  Monitor monitor("simulating the next steps", limit_s);
  const answer::Explanation found = answers::explain(monitor.backend(), store, space, number);
  monitor.clear();
  const reports::Screen screen = reports::screen_of(stdout);
  if (form == Form::json)
    print_json(found);
  else
    print(reports::explanation_report(found, screen));
  if (form == Form::table && monitor.ended())
    print(reports::paragraph(monitor.why() + ": some steps were not tried.", screen));
  monitor.finish();
}

}  // namespace spillway::cli
