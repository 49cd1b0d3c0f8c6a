#include "reports/probe_report.hpp"

#include "reports/human.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>

namespace spillway::reports {

namespace {

std::string text_of(double value, const std::string& unit) {
  if (unit == "bytes") return human_bytes(value);
  if (unit == "bytes_per_s") return human_rate(value);
  if (unit == "flops_per_s") return human_number(value / 1e9) + " GFLOPS";
  if (unit == "params_per_s") return human_number(value / 1e9) + " Gparam/s";
  if (unit == "s") return human_time(value);
  return human_share(value);
}

void add_row(Table& table, const answer::Measurement& measured) {
  table.rows.push_back({{measured.path},
                        {text_of(measured.median, measured.unit)},
                        {text_of(measured.least, measured.unit)},
                        {text_of(measured.most, measured.unit)},
                        {std::to_string(measured.runs)}});
}

}  // namespace

std::string probe_report(const answer::Probe& probe, const Screen& screen) {
  Table table;
  table.columns = {{"measured", Align::left},
                   {"median", Align::right},
                   {"least", Align::right},
                   {"most", Align::right},
                   {"runs", Align::right}};
  for (const answer::Measurement& each : probe.measurements) add_row(table, each);
  for (const answer::Product& each : probe.products) add_row(table, each);
  return fmt::format("{} ({})\n\n", probe.device, probe.device_why) + to_text(table, screen);
}

}  // namespace spillway::reports
