#include "reports/inputs/probe_report.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"
#include "reports/words/unit_number.hpp"

namespace spillway::reports {

namespace {

view::Number measured(double value, const std::string& unit) {
  return number_in(unit, value, view::Origin::measured);
}

void add_row(Table& table, const answer::Measurement& one) {
  table.rows.push_back({one.path, measured(one.median, one.unit), measured(one.least, one.unit),
                        measured(one.most, one.unit), view::plain(static_cast<double>(one.runs))});
}

}  // namespace

view::Document probe_document(const answer::Probe& probe) {
  Table table;
  table.columns = {{"measured", Align::left},
                   {"median", Align::right},
                   {"least", Align::right},
                   {"most", Align::right},
                   {"runs", Align::right}};
  for (const answer::Measurement& each : probe.measurements) add_row(table, each);
  for (const answer::Product& each : probe.products) add_row(table, each);
  view::Document document;
  document.title = "This machine, measured";
  return document
      .add(view::Paragraph{.text = probe.device + " (" + probe.device_why + ")", .wraps = false})
      .add(std::move(table));
}

std::string probe_report(const answer::Probe& probe, const Screen& screen) {
  return to_text(probe_document(probe), screen);
}

}  // namespace spillway::reports
