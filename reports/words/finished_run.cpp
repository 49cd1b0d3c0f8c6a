#include "reports/words/finished_run.hpp"

#include "reports/words/range.hpp"
#include "reports/words/table.hpp"

namespace spillway::reports {

using result::Result;
using view::filled;
using view::Number;
using view::Quantity;
using view::Text;

namespace {

Number money(double usd) { return {usd, Quantity::money}; }

/// Dollars, with the range of the number at `path` where there is one; "-" where nobody knows.
Text dollars(const Result& r, const std::optional<double>& usd, const std::string& path = "") {
  return usd ? with_range(money(*usd), r, path) : "-";
}

/// Of a drive; below it is nothing that a person plans for.
constexpr double smallest_share = 0.005;

Text drives_text(const Result& r) {
  if (!r.run->drives || !r.wear) return "-";
  const result::RunDrives& drives = *r.run->drives;
  Text text = filled("{} written", {view::bytes(drives.written_bytes)});
  if (drives.placed_bytes > 0)
    text += filled(" ({} before the first step)", {view::bytes(drives.placed_bytes)});
  if (!drives.warranties)
    return text + filled(" on {}, whose rating is not known", {drives.storage});
  const double rating = r.wear->rated_write_bytes / static_cast<double>(r.wear->drives);
  const double ratings = drives.written_bytes / rating;
  if (ratings >= smallest_share)
    text += filled(", the warranty of {} drives", {view::number(ratings, Quantity::few)});
  return text;
}

bool replaces(const Result& r) { return r.run->drives && r.run->drives->replaced > 0; }

Text replaced_text(const Result& r) {
  if (!replaces(r)) return "-";
  const auto& usd = r.run->usd.replacements;
  return filled("{} more once the warranty is written, {}",
                {view::count(static_cast<std::uint64_t>(r.run->drives->replaced)),
                 usd ? Text(money(*usd)) : "not priced"});
}

/// The machine keeps what it is worth after the run; only its price is known here.
Text bought_text(const Result& r) {
  const result::RunCosts& usd = r.run->usd;
  if (!usd.box) return "-";
  Text text = money(*usd.box + usd.energy.value_or(0) + usd.replacements.value_or(0));
  if (replaces(r) && !usd.replacements) text += ", without the drives used up";
  if (r.run->drives && !r.run->drives->warranties)
    text += filled(", without those of {} that may be used up", {r.run->drives->storage});
  return text;
}

Text checkpoints_text(const Result& r) {
  const result::RunCheckpoints& c = r.run->checkpoints;
  return filled("{} of {}, {} each", {view::count(static_cast<std::uint64_t>(c.count)),
                                      view::bytes(c.bytes), view::seconds(c.seconds)});
}

Text energy_text(const Result& r) {
  if (!r.run->kwh) return "no power stated";
  return with_range(view::number(*r.run->kwh), r, "run.kwh") + " kWh";
}

constexpr RunLine lines[] = {
    {"for these tokens", [](const Result& r) { return Text(view::number(r.run->tokens)); }},
    {"  time",
     [](const Result& r) {
       return with_range({r.run->days, Quantity::days}, r, "run.days");
     }},
    {"  checkpoints", checkpoints_text},
    {"  energy", energy_text},
    {"  price of the energy",
     [](const Result& r) { return dollars(r, r.run->usd.energy, "run.usd.energy"); }},
    {"  drives", drives_text},
    {"  drives used up", replaced_text},
    {"  bought, with energy and drives", bought_text},
    {"  rented in its place", [](const Result& r) { return dollars(r, r.run->usd.rented); }},
    {"  value that drives lose", [](const Result& r) { return dollars(r, r.run->usd.drives); }},
};

}  // namespace

std::span<const RunLine> run_lines() { return lines; }

view::Table finished_run_table(const Result& r) {
  Table table{{{"finished run", Align::left}, {"", Align::left}}, {}};
  if (!r.run) return table;
  for (const RunLine& line : run_lines())
    if (const Text text = line.of(r); text != "-") table.rows.push_back({line.title, text});
  return table;
}

std::string finished_run_report(const Result& r, const Screen& screen) {
  return r.run ? to_text(finished_run_table(r), screen) : "";
}

}  // namespace spillway::reports
