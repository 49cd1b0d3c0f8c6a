#include "reports/inputs/calibration_report.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"
#include "reports/words/unit_number.hpp"

namespace spillway::reports {

using answer::Calibration;
using answer::DriveForecast;
using view::filled;
using view::Origin;
using view::Text;

namespace {

view::Cell cell_of(const std::optional<double>& value, const std::string& unit, Origin origin) {
  return value ? view::Cell(number_in(unit, *value, origin)) : view::Cell("-");
}

view::Cell off(const std::optional<double>& value, double from) {
  return value && from > 0 ? view::Cell(view::change(*value / from - 1)) : view::Cell("-");
}

/// Memory is said as it is sold, in GiB; what drives hold and move in GB.
std::string said_unit(const std::string& what, const std::string& unit) {
  const bool of_memory = what.ends_with("memory") || what == "gpu.reserve";
  return unit == "bytes" && of_memory ? "memory" : unit;
}

Table moved_table(const Calibration& all) {
  Table table;
  table.columns = {{"number", Align::left},
                   {"before", Align::right},
                   {"after", Align::right},
                   {"change", Align::right},
                   {"from", Align::left, 60}};
  for (const answer::MovedParameter& one : all.moved)
    table.rows.push_back(
        {one.path, cell_of(one.before, said_unit(one.path, one.unit), Origin::computed),
         number_in(said_unit(one.path, one.unit), one.after, Origin::measured),
         one.before ? off(one.after, *one.before) : view::Cell("new"), one.source});
  return table;
}

Table shortfall_table(const Calibration& all) {
  Table table;
  table.columns = {{"below its rating", Align::left},
                   {"rated", Align::right},
                   {"found", Align::right},
                   {"look at", Align::left, 60}};
  for (const answer::Shortfall& one : all.shortfalls)
    table.rows.push_back({one.what, number_in(one.unit, one.rated, Origin::datasheet),
                          number_in(one.unit, one.found, Origin::measured), one.remedy});
  return table;
}

Table run_table(const Calibration& all) {
  Table table;
  table.columns = {{"run", Align::left, 40}, {"", Align::left},
                   {"logged", Align::right}, {"predicted before", Align::right},
                   {"off", Align::right},    {"predicted after", Align::right},
                   {"off", Align::right}};
  for (const answer::LoggedRun& run : all.runs) {
    std::string label = run.program + " (" + run.file + ")";
    for (const auto* numbers : {&run.numbers, &run.phases}) {
      for (const answer::LoggedNumber& one : *numbers) {
        const std::string unit = said_unit(one.what, one.unit);
        table.rows.push_back(
            {label, one.what, number_in(unit, one.logged, Origin::measured),
             cell_of(one.before, unit, Origin::computed), off(one.before, one.logged),
             cell_of(one.after, unit, Origin::computed), off(one.after, one.logged)});
        label.clear();
      }
    }
  }
  drop_silent_columns(table);
  return table;
}

/// One forecast as a sentence.
Text said_of(const std::string& by, const Text& left, const std::optional<std::string>& day) {
  return filled("{}: {} left{}", {by, left, day ? ", until " + *day : std::string()});
}

/// "the rating of the 990 PRO 2TB", which the drive may be or not.
std::string rating_of(const Calibration& calibration, const std::string& storage) {
  const auto machine = calibration.machine.find("bought");
  const std::string part =
      machine == calibration.machine.end() ? "" : machine->value("storage." + storage, "");
  return part.empty() ? "By its maker's rating" : "By the rating of the " + part;
}

void add_drive(const Calibration& calibration, const DriveForecast& drive, view::Document& into) {
  const std::string name = drive.model.empty() ? drive.storage : drive.model;
  Text text = filled("{} has written {} and says that {} % of its endurance are used. ",
                     {name, view::bytes(drive.written_bytes, Origin::measured),
                      view::plain(static_cast<double>(drive.percent_used))});
  if (drive.left_by_rating)
    text += said_of(rating_of(calibration, drive.storage),
                    filled("{} of {}", {view::bytes(*drive.left_by_rating),
                                        view::bytes(*drive.rated_bytes, Origin::datasheet)}),
                    drive.day_by_rating) +
            ". ";
  else
    text += "The machine file has no maker's rating of this drive. ";
  if (drive.least_left)
    text +=
        said_of("By what it has used up so far",
                filled("{} to {}", {view::bytes(*drive.least_left), view::bytes(*drive.most_left)}),
                drive.day_by_percentage) +
        ". ";
  else
    text += "Below 1 % used nothing follows from what it has used up. ";
  constexpr double apart = 1.5;
  if (drive.left_by_rating && drive.most_left && *drive.left_by_rating > apart * *drive.most_left)
    text += filled(
        "The machine file counts by the rating; with {} as storage.{}.endurance.rated and 1 as "
        "endurance.rating_waf it counts by what the drive has used up. ",
        {view::bytes(drive.written_bytes * 100 / static_cast<double>(drive.percent_used)),
         drive.storage});
  if (drive.written_per_day)
    text += filled("The scenario writes {} a day to it. ", {view::bytes(*drive.written_per_day)});
  if (drive.run_bytes)
    text += filled(
        "The whole run takes {}, checkpoints and what is laid on it before the first step "
        "included. ",
        {view::bytes(*drive.run_bytes)});
  into.add(view::Paragraph{.text = text});
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

view::Document calibration_document(const Calibration& all) {
  view::Document document;
  document.title = "What the evidence says of this machine";
  if (all.moved.empty())
    document.add(view::Paragraph{.text = "No number of the machine file follows from it."});
  else
    document.add(moved_table(all));
  if (!all.shortfalls.empty()) document.add(shortfall_table(all));
  if (!all.runs.empty()) {
    document.add(run_table(all));
    if (all.scenario.empty())
      document.add(view::Paragraph{
          .text = "No scenario was named: --scenario FILE shows what is predicted beside what was "
                  "logged. Logs move no number: no single one follows from them.",
          .tone = view::Tone::note});
  }
  for (const DriveForecast& drive : all.drives) add_drive(all, drive, document);
  for (const answer::KeptParameter& one : all.kept)
    document.add(view::Paragraph{.text = one.file + ": " + one.path + ": " + one.why,
                                 .tone = view::Tone::note});
  for (const answer::EvidenceFile& file : all.files)
    for (const Text& note : file.notes)
      document.add(
          view::Paragraph{.text = Text(file.file + ": ") + note, .tone = view::Tone::note});
  if (!all.untouched.empty())
    document.add(view::Paragraph{.text = "Nobody measured: " + listed(all.untouched) +
                                         ". On the machine itself `spillway "
                                         "probe DIR` does.",
                                 .tone = view::Tone::note});
  return document;
}

std::string calibration_report(const Calibration& calibration, const Screen& screen) {
  return to_text(calibration_document(calibration), screen);
}

}  // namespace spillway::reports
