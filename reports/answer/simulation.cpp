#include "reports/answer/simulation.hpp"

#include "reports/result/reading.hpp"
#include "reports/result/what_if.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

namespace {

constexpr const char* name = "answer/simulate";
constexpr const char* schema = "spillway/answer/simulate/1";

/// The members that stand beside the result.
void read_beside(const json& in, Simulation& simulation) {
  read(in, "settings", simulation.settings);
  read(in, "what_if", simulation.what_ifs);
  read(in, "faster", simulation.faster);
  read(in, "remedy", simulation.remedy);
  read(in, "old_prices", simulation.old_prices);
  read(in, "warnings", simulation.warnings);
}

void write_beside(json& out, const Simulation& simulation) {
  out["settings"] = simulation.settings;
  out["what_if"] = simulation.what_ifs;
  out["faster"] = simulation.faster;
  out["remedy"] = or_null(simulation.remedy);
  out["old_prices"] = simulation.old_prices;
  out["warnings"] = simulation.warnings;
}

}  // namespace

std::vector<WhatIf> what_ifs_of(const result::Result& result) {
  std::vector<WhatIf> all;
  for (const auto& [words, what_if] : result.next) {
    WhatIf& one = all.emplace_back();
    one.name = words;
    one.resource = result::relieved_by(words, result);
    one.step_time_s = what_if.step_time_s;
    if (what_if.step_time_s && *what_if.step_time_s > 0)
      one.tokens_per_s = result.tokens_per_s * result.step_time_s / *what_if.step_time_s;
    one.why = what_if.why;
  }
  std::stable_sort(all.begin(), all.end(), [](const WhatIf& one, const WhatIf& other) {
    return one.step_time_s.value_or(HUGE_VAL) < other.step_time_s.value_or(HUGE_VAL);
  });
  return all;
}

void to_json(json& out, const Setting& setting) {
  out = {{"path", setting.path}, {"value", setting.value}, {"source", setting.source}};
}

void from_json(const json& in, Setting& setting) {
  read(in, "path", setting.path);
  read(in, "value", setting.value);
  read(in, "source", setting.source);
}

void to_json(json& out, const WhatIf& what_if) {
  out = {{"name", what_if.name},
         {"resource", what_if.resource},
         {"step_time_s", or_null(what_if.step_time_s)},
         {"tokens_per_s", or_null(what_if.tokens_per_s)}};
  put(out, "why", what_if.why);
}

void from_json(const json& in, WhatIf& what_if) {
  read(in, "name", what_if.name);
  read(in, "resource", what_if.resource);
  read(in, "step_time_s", what_if.step_time_s);
  read(in, "tokens_per_s", what_if.tokens_per_s);
  read(in, "why", what_if.why);
}

void to_json(json& out, const FasterSettings& settings) {
  out = {{"words", settings.words},
         {"set", settings.overrides},
         {"step_time_s", settings.step_time_s},
         {"tokens_per_s", settings.tokens_per_s}};
}

void from_json(const json& in, FasterSettings& settings) {
  read(in, "words", settings.words);
  read(in, "set", settings.overrides);
  read(in, "step_time_s", settings.step_time_s);
  read(in, "tokens_per_s", settings.tokens_per_s);
}

void to_json(json& out, const Simulation& simulation) {
  json all = {{"schema", schema}, {"result", simulation.result}};
  write_beside(all, simulation);
  out = std::move(all);
}

void from_json(const json& in, Simulation& simulation) {
  simulation = {};
  const std::string said = in.is_object() && in.contains("schema") && in["schema"].is_string()
                               ? in["schema"].get<std::string>()
                               : "";
  if (said == result::schema_name) {
    simulation.result = in.get<result::Result>();
  } else {
    result::require_schema(in, name);
    read(in, "result", simulation.result);
  }
  read_beside(in, simulation);
  if (simulation.what_ifs.empty()) simulation.what_ifs = what_ifs_of(simulation.result);
}

json flat(const Simulation& simulation) {
  json all = simulation.result;
  write_beside(all, simulation);
  return all;
}

}  // namespace spillway::answer
