#include "reports/inputs/probe_report.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"
#include "reports/words/unit_number.hpp"

#include <algorithm>

namespace spillway::reports {

using view::filled;
using view::Text;

namespace {

view::Number measured(double value, const std::string& unit) {
  return number_in(unit, value, view::Origin::measured);
}

void add_row(Table& table, const answer::Measurement& one) {
  table.rows.push_back({one.path, measured(one.median, one.unit), measured(one.least, one.unit),
                        measured(one.most, one.unit), view::plain(static_cast<double>(one.runs))});
}

view::Number kib_of(const answer::MixedRequests& mix) {
  return view::plain(static_cast<double>(mix.request_bytes) / 1024);
}

/// "87 % (85 % to 88 %)"
Text part_of(const answer::MixedRequests& mix) {
  const auto number = [](double efficiency) {
    return view::Number{efficiency, view::Quantity::part, view::Origin::measured};
  };
  return filled("{} ({} to {})",
                {number(mix.mixed_efficiency), number(mix.least), number(mix.most)});
}

/// Whether mixes cost more with the smaller of two sizes of requests, or less.
std::string compared(const answer::MixedRequests& one, const answer::MixedRequests& other) {
  const bool in_order = one.request_bytes < other.request_bytes;
  const answer::MixedRequests &small = in_order ? one : other, &large = in_order ? other : one;
  if (small.most < large.least) return "mixes cost more with smaller requests";
  if (small.least > large.most) return "mixes cost less with smaller requests";
  return "no difference beyond the spread of the runs";
}

/// `used` is of the machine file; the others of its storage are beside it.
Text mixes_of(const std::vector<answer::MixedRequests>& mixes, const answer::MixedRequests& used) {
  Text text = filled(
      "With requests of {} KiB, as runs make them, {} moves {} of what it moves of either alone "
      "when reads and writes each take half of its time: mixed_efficiency of the machine file",
      {kib_of(used), used.storage, part_of(used)});
  for (const answer::MixedRequests& mix : mixes)
    if (mix.storage == used.storage && !mix.in_machine_file)
      text +=
          filled("; with {} KiB it is {}: {}", {kib_of(mix), part_of(mix), compared(used, mix)});
  return text + ".";
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
  document
      .add(view::Paragraph{.text = probe.device + " (" + probe.device_why + ")", .wraps = false})
      .add(std::move(table));
  for (const answer::MixedRequests& mix : probe.mixes)
    if (mix.in_machine_file) document.add(view::Paragraph{.text = mixes_of(probe.mixes, mix)});
  return document;
}

std::string probe_report(const answer::Probe& probe, const Screen& screen) {
  return to_text(probe_document(probe), screen);
}

}  // namespace spillway::reports
