#include "reports/answer/comparison.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

void to_json(json& out, const Compared& run) {
  out = {{"label", run.label},
         {"result", or_null(run.result)},
         {"failure", run.failure},
         {"system", run.system},
         {"scenario", run.scenario}};
}

void from_json(const json& in, Compared& run) {
  read(in, "label", run.label);
  read(in, "result", run.result);
  read(in, "failure", run.failure);
  read(in, "system", run.system);
  read(in, "scenario", run.scenario);
}

void to_json(json& out, const LeftOut& one) {
  out = {{"label", one.label}, {"reason", one.reason}};
}

void from_json(const json& in, LeftOut& one) {
  read(in, "label", one.label);
  read(in, "reason", one.reason);
}

void to_json(json& out, const Comparison& comparison) {
  out = {{"schema", "spillway/answer/compare/1"},
         {"runs", comparison.runs},
         {"left_out", comparison.left_out},
         {"old_prices", comparison.old_prices}};
}

namespace {
/// A row of what `compare --json` prints.
Compared run_of(const json& row) {
  Compared run;
  read(row, "system", run.system);
  read(row, "scenario", run.scenario);
  read(row, "failure", run.failure);
  if (!row.contains("failure")) run.result = row.get<result::Result>();
  run.label = run.system;  // as releases wrote that had no labels
  read(row, "label", run.label);
  return run;
}
}  // namespace

void from_json(const json& in, Comparison& comparison) {
  comparison = {};
  if (in.is_array()) {
    for (const json& row : in) comparison.runs.push_back(run_of(row));
    return;
  }
  result::require_schema(in, "answer/compare");
  read(in, "runs", comparison.runs);
  read(in, "left_out", comparison.left_out);
  read(in, "old_prices", comparison.old_prices);
}

json rows_of(const Comparison& comparison) {
  json rows = json::array();
  for (const Compared& run : comparison.runs) {
    rows.push_back(
        run.result
            ? json(*run.result)
            : json{{"system", run.system}, {"scenario", run.scenario}, {"failure", run.failure}});
    rows.back()["label"] = run.label;
  }
  return rows;
}

}  // namespace spillway::answer
