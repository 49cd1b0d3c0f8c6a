#include "reports/answer/calibration.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

SPILLWAY_MEMBERS(KeptParameter, path, file, why)
SPILLWAY_MEMBERS(Shortfall, file, what, unit, rated, found, remedy)

void to_json(json& out, const EvidenceFile& of) {
  out = {{"file", of.file}, {"kind", of.kind}};
  text::put(out, "notes", of.notes);
}

void from_json(const json& in, EvidenceFile& of) {
  read(in, "file", of.file);
  read(in, "kind", of.kind);
  read(in, "notes", of.notes);
}

void to_json(json& out, const MovedParameter& one) {
  out = {{"path", one.path},
         {"unit", one.unit},
         {"before", or_null(one.before)},
         {"after", one.after},
         {"source", one.source}};
}

void from_json(const json& in, MovedParameter& one) {
  read(in, "path", one.path);
  read(in, "unit", one.unit);
  read(in, "before", one.before);
  read(in, "after", one.after);
  read(in, "source", one.source);
}

void to_json(json& out, const LoggedNumber& one) {
  out = {{"what", one.what},
         {"unit", one.unit},
         {"logged", one.logged},
         {"before", or_null(one.before)},
         {"after", or_null(one.after)}};
}

void from_json(const json& in, LoggedNumber& one) {
  read(in, "what", one.what);
  read(in, "unit", one.unit);
  read(in, "logged", one.logged);
  read(in, "before", one.before);
  read(in, "after", one.after);
}

SPILLWAY_MEMBERS(LoggedRun, file, program, logged, numbers, phases)

void to_json(json& out, const DriveForecast& one) {
  out = {{"file", one.file},
         {"storage", one.storage},
         {"model", one.model},
         {"written_bytes", one.written_bytes},
         {"percent_used", one.percent_used},
         {"rated_bytes", or_null(one.rated_bytes)},
         {"left_by_rating", or_null(one.left_by_rating)},
         {"least_left", or_null(one.least_left)},
         {"most_left", or_null(one.most_left)},
         {"written_per_day", or_null(one.written_per_day)},
         {"day_by_rating", or_null(one.day_by_rating)},
         {"day_by_percentage", or_null(one.day_by_percentage)},
         {"run_bytes", or_null(one.run_bytes)}};
}

void from_json(const json& in, DriveForecast& one) {
  read(in, "file", one.file);
  read(in, "storage", one.storage);
  read(in, "model", one.model);
  read(in, "written_bytes", one.written_bytes);
  read(in, "percent_used", one.percent_used);
  read(in, "rated_bytes", one.rated_bytes);
  read(in, "left_by_rating", one.left_by_rating);
  read(in, "least_left", one.least_left);
  read(in, "most_left", one.most_left);
  read(in, "written_per_day", one.written_per_day);
  read(in, "day_by_rating", one.day_by_rating);
  read(in, "day_by_percentage", one.day_by_percentage);
  read(in, "run_bytes", one.run_bytes);
}

void to_json(json& out, const Calibration& all) {
  out = {{"schema", "spillway/answer/calibrate/1"},
         {"machine", all.machine},
         {"scenario", all.scenario},
         {"files", all.files},
         {"moved", all.moved},
         {"kept", all.kept},
         {"untouched", all.untouched},
         {"shortfalls", all.shortfalls},
         {"runs", all.runs},
         {"drives", all.drives}};
}

void from_json(const json& in, Calibration& all) {
  result::require_schema(in, "answer/calibrate");
  all = {};
  read(in, "machine", all.machine);
  read(in, "scenario", all.scenario);
  read(in, "files", all.files);
  read(in, "moved", all.moved);
  read(in, "kept", all.kept);
  read(in, "untouched", all.untouched);
  read(in, "shortfalls", all.shortfalls);
  read(in, "runs", all.runs);
  read(in, "drives", all.drives);
}

}  // namespace spillway::answer
