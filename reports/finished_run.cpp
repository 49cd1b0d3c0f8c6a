#include "reports/finished_run.hpp"

#include "reports/human.hpp"
#include "reports/range.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>

namespace spillway::reports {

using result::Result;

namespace {

std::string human_usd(double usd) {
  return usd < 10 ? fmt::format("${:.2f}", usd) : human_price(usd);
}
std::string dollars(const std::optional<double>& usd) { return usd ? human_usd(*usd) : "-"; }

std::string human_days(double days) { return human_time(days * 86400); }

/// Of a drive; below it is nothing that a person plans for.
constexpr double smallest_share = 0.005;

std::string drives_words(const Result& r) {
  if (!r.run->drives || !r.wear) return "-";
  const double count = static_cast<double>(r.wear->drives);
  const result::RunDrives& drives = *r.run->drives;
  std::string text = human_bytes(drives.written_bytes) + " written";
  if (drives.warranties && *drives.warranties * count >= smallest_share)
    text += fmt::format(", the warranty of {:.2g} drives", *drives.warranties * count);
  return text;
}

bool replaces(const Result& r) { return r.run->drives && r.run->drives->replaced > 0; }

std::string replaced_words(const Result& r) {
  if (!replaces(r)) return "-";
  return fmt::format("{} more once the warranty is written, {}",
                     human_count(static_cast<std::uint64_t>(r.run->drives->replaced)),
                     r.run->usd.replacements ? human_usd(*r.run->usd.replacements) : "not priced");
}

/// The machine keeps what it is worth after the run; only its price is known here.
std::string bought_words(const Result& r) {
  const result::RunCosts& usd = r.run->usd;
  if (!usd.box) return "-";
  std::string text = human_usd(*usd.box + usd.energy.value_or(0) + usd.replacements.value_or(0));
  if (replaces(r) && !usd.replacements) text += ", without the drives used up";
  return text;
}

constexpr RunLine lines[] = {
    {"for these tokens", [](const Result& r) { return human_number(r.run->tokens); }},
    {"  time",
     [](const Result& r) {
       return with_range(human_days(r.run->days), r, "run.days", human_days);
     }},
    {"  checkpoints",
     [](const Result& r) {
       const result::RunCheckpoints& c = r.run->checkpoints;
       return fmt::format("{} of {}, {} each", human_count(static_cast<std::uint64_t>(c.count)),
                          human_bytes(c.bytes), human_time(c.seconds));
     }},
    {"  energy",
     [](const Result& r) {
       if (!r.run->kwh) return std::string("no power stated");
       return with_range(human_number(*r.run->kwh), r, "run.kwh", human_number) + " kWh";
     }},
    {"  price of the energy",
     [](const Result& r) {
       return with_range(dollars(r.run->usd.energy), r, "run.usd.energy", human_usd);
     }},
    {"  drives", drives_words},
    {"  drives used up", replaced_words},
    {"  bought, with energy and drives", bought_words},
    {"  rented in its place", [](const Result& r) { return dollars(r.run->usd.rented); }},
    {"  value that drives lose", [](const Result& r) { return dollars(r.run->usd.drives); }},
};

}  // namespace

std::span<const RunLine> run_lines() { return lines; }

view::Table finished_run_table(const Result& r) {
  Table table{{{"finished run", Align::left}, {"", Align::left}}, {}};
  if (!r.run) return table;
  for (const RunLine& line : run_lines())
    if (const std::string text = line.of(r); text != "-") table.rows.push_back({line.title, text});
  return table;
}

std::string finished_run_report(const Result& r, const Screen& screen) {
  return r.run ? to_text(finished_run_table(r), screen) : "";
}

}  // namespace spillway::reports
