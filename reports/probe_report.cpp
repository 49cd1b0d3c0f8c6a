#include "reports/probe_report.hpp"

#include "reports/table.hpp"
#include "reports/view/text_page.hpp"

namespace spillway::reports {

namespace {

view::Number measured_number(double value, const std::string& unit) {
  using view::Origin;
  using view::Quantity;
  if (unit == "bytes") return view::bytes(value, Origin::measured);
  if (unit == "bytes_per_s") return view::rate(value, Origin::measured);
  if (unit == "flops_per_s") return {value, Quantity::billions, Origin::measured, "FLOPS"};
  if (unit == "params_per_s") return {value, Quantity::billions, Origin::measured, "param/s"};
  if (unit == "s") return view::seconds(value, Origin::measured);
  return view::share(value, Origin::measured);
}

void add_row(Table& table, const answer::Measurement& measured) {
  table.rows.push_back({measured.path, measured_number(measured.median, measured.unit),
                        measured_number(measured.least, measured.unit),
                        measured_number(measured.most, measured.unit),
                        view::plain(static_cast<double>(measured.runs))});
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
