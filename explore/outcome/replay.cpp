#include "explore/outcome/best_plan.hpp"
#include "explore/outcome/runs_with.hpp"
#include "reports/result/reading.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/description/strict_json.hpp"
#include "scenarios/json/input_file.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/decide/decision_json.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <chrono>

namespace spillway::explore {

namespace {

/// The file is a result, not a decision alone.
bool holds_result(const nlohmann::json& file) {
  const auto schema = file.is_object() ? file.find("schema") : file.end();
  return schema != file.end() && *schema != strategies::decision_schema;
}

/// The decision of a result, or the decision that `file` is.
const nlohmann::json& decision_in(const nlohmann::json& file) {
  if (!holds_result(file)) return file;
  const auto found = file.find("decision");
  if (found == file.end() || !found->is_object())
    throw description::ScenarioError(
        {{"", 0, 0, "decision",
          "is missing: an older version wrote this, or what held many results",
          "simulate the scenario with --json, which keeps what was decided"}});
  return *found;
}

/// Makes of the run for less of a machine the result of what it stands for, on all of it.
void stand_for(const strategies::StandsFor& whole, const description::MachineFile& machine,
               result::Result& result) {
  result.scenario = whole.question;
  if (result.gpu.capacity) {
    result.gpu.capacity = machine.gpu.memory.value();
    result.gpu.reserve = machine.gpu.reserve.value();
  }
  if (result.host.capacity) {
    result.host.capacity = machine.host.memory.value();
    result.host.reserve = machine.host.reserve.value();
  }
  result.notes.push_back(whole.note);
}

/// What a result says beside its run.
void take_over(const nlohmann::json& file, result::Result& result) {
  auto stored = file.get<result::Result>();
  result::add_what_ifs(result, std::move(stored.next));
  result.old_prices = stored.old_prices;
  result.range = stored.range;
}

/// The scenario of a stored result was edited: its decision is for `question`.
void refuse_edited(const nlohmann::json& file, const nlohmann::json& question) {
  const auto scenario = file.find("scenario");
  if (scenario == file.end()) return;
  for (const nlohmann::json& change : nlohmann::json::diff(question, *scenario))
    if (change.at("op") != "remove") {  // what a newer version says besides is missing there
      std::string path = "scenario" + change.at("path").get<std::string>();
      std::replace(path.begin(), path.end(), '/', '.');
      throw description::ScenarioError({{"", 0, 0, path, "is not what the decision was made for",
                                         "simulate the scenario anew"}});
    }
}

nlohmann::json json_in(const std::string& path) {
  auto [file, problem] = description::parse_strictly(scenarios::text_of_file(path));
  if (!problem.empty())
    description::refuse(path, "is no JSON: " + problem, "name what simulate --json wrote");
  return std::move(file);
}

}  // namespace

Replayed replay_file(const Backend& backend, const std::string& path, result::Trace* trace) {
  nlohmann::json file = json_in(path);
  try {
    result::Result result = replay(backend, file, trace);
    const bool of_result = holds_result(file) && file["schema"] == result::schema_name;
    return {std::move(result), of_result ? std::move(file) : nlohmann::json()};
  } catch (const description::ScenarioError& error) {
    std::vector<description::Complaint> complaints = error.complaints();
    for (description::Complaint& one : complaints)
      if (one.file.empty()) one.file = path;
    throw description::ScenarioError(std::move(complaints));
  }
}

result::Result replay(const Backend& backend, const nlohmann::json& file, result::Trace* trace) {
  const auto start = std::chrono::steady_clock::now();
  const nlohmann::json& written = decision_in(file);
  const std::vector<scenarios::SystemInfo> systems = known_systems();
  const auto read = [&](const nlohmann::json& scenario) {
    return scenarios::read_scenario(scenario, {}, systems, scenarios::Refuse::what_cannot_run)
        .scenario;
  };
  const strategies::Decision decision = [&] {
    try {
      return strategies::read_decision(written, read(strategies::scenario_in(written)));
    } catch (const description::ScenarioError& error) {
      if (&written == &file) throw;
      result::complain_below("decision", error);
    }
  }();
  const auto& whole = decision->stands_for;
  if (&written != &file) refuse_edited(file, whole ? whole->question : decision->question);
  description::Scenario asked = as_asked(*decision);
  if (whole) {
    asked = read(strategies::readable(whole->question));
    strategies::take_back(whole->question, asked);
  }
  result::Result result = run_decided(backend, decision, trace);
  strategies::require_same_buffers(written, decision, result);
  if (whole) stand_for(*whole, asked.machine, result);
  result.runs_with = runs_with(asked);
  if (&written != &file) take_over(file, result);
  result.decision = written;
  result.simulated_in_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace spillway::explore
