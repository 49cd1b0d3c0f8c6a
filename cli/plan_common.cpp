#include "cli/plan_common.hpp"

#include "cli/common.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"
#include "scenarios/box.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/format.h>

namespace spillway::cli {

using nlohmann::json;
using reports::Align;

void add_plan_options(CLI::App& verb, PlanOptions& options) {
  verb.add_option("--machine", options.machine, "a name of scenarios/machines or a file")
      ->required();
  verb.add_option("--system", options.systems,
                  "only these systems; else all whose updates come in time")
      ->delimiter(',');
  verb.add_option("--precision", options.precision, "of the training");
  verb.add_option("--sequence", options.sequence, "tokens of a sample")->check(CLI::PositiveNumber);
}

void add_plan_ending(CLI::App& verb, PlanOptions& options) {
  add_set(verb, options.overrides, "override one value of all that is tried");
  verb.add_flag("--json", options.json, "with the whole result of everything that was simulated");
}

json plan_base(const PlanOptions& options, const std::string& model) {
  return {{"model", model},
          {"machine", options.machine},
          {"training", {{"precision", options.precision}, {"sequence", options.sequence}}},
          {"strategy", {{"system", "zero_infinity"}}},
          {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
}

void add_overrides(std::vector<explore::Trial>& trials, const PlanOptions& options) {
  for (explore::Trial& trial : trials)
    trial.overrides.insert(trial.overrides.end(), options.overrides.begin(),
                           options.overrides.end());
}

std::string set_system(const std::string& name) {
  return R"(strategy={"system": ")" + name + "\"}";
}

std::vector<std::string> systems_or_all(const std::vector<std::string>& asked) {
  if (!asked.empty()) return asked;
  std::vector<std::string> all;
  for (const strategies::System& system : strategies::catalogue())
    if (system.defaults().optimizer.staleness == 0) all.push_back(system.name);
  return all;
}

json trial_json(const explore::Trial& trial) {
  json out = {{"words", trial.words},
              {"reason", trial.reason},
              {"ruled_out", trial.ruled_out},
              {"result", nullptr}};
  if (trial.result) out["result"] = *trial.result;
  return out;
}

std::string evidence(const std::vector<explore::Trial>& trials) {
  reports::Table table;
  table.columns = {{"tried", Align::left, 0},      {"tokens/s", Align::right, 0},
                   {"step", Align::right, 0},      {"GPU peak", Align::right, 0},
                   {"host peak", Align::right, 0}, {"drives last", Align::right, 0},
                   {"why not", Align::left, 0}};
  for (const explore::Trial& trial : trials) {
    auto& cells = table.rows.emplace_back(std::vector<reports::Cell>{trial.words});
    if (trial.fits()) {
      const result::Result& result = *trial.result;
      const bool worn = result.wear && result.wear->lifetime_years;
      cells.insert(
          cells.end(),
          {reports::human_number(result.tokens_per_s), reports::human_time(result.step_time_s),
           reports::human_memory(result.gpu.total), reports::human_memory(result.host.total),
           worn ? reports::human_years(*result.wear->lifetime_years) : "-"});
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-", trial.reason});
    }
  }
  reports::drop_silent_columns(table);
  return to_text(table, reports::screen_of(stdout));
}

json trials_json(const std::vector<explore::Trial>& trials) {
  json all = json::array();
  for (const explore::Trial& trial : trials) all.push_back(trial_json(trial));
  return all;
}

json counts_json(const explore::TrialCounts& counts) {
  return {{"bounded", counts.bounded},
          {"ruled_out", counts.ruled_out},
          {"simulated", counts.simulated}};
}

void try_or_refuse(const json& base, std::vector<explore::Trial>& trials) {
  if (const auto wrong = try_all(simulator(), base, trials)) throw *wrong;
}

void try_one(const json& base, explore::Trial& trial, explore::TrialCounts& counts) {
  std::vector<explore::Trial> again = {{trial.words, trial.overrides, std::nullopt, ""}};
  try_or_refuse(base, again);
  trial = std::move(again.front());
  --counts.ruled_out;
  ++counts.simulated;
}

std::string counts_words(const explore::TrialCounts& counts) {
  return fmt::format("{} bounds, {} ruled out by them, {} simulations.", counts.bounded,
                     counts.ruled_out, counts.simulated);
}

std::string certainty(const result::Result& result) {
  const json& sources = result.scenario.at("machine").at("sources");
  std::vector<std::string> assumed;
  for (const std::string& path : explore::assumed_numbers(result))
    if (!sources.at(path).get<std::string>().starts_with(scenarios::chosen))
      assumed.push_back(path);
  if (assumed.empty()) return "Every number of the machine is stated or measured.";
  return fmt::format("It rests on {} numbers of the machine that are assumed: {}.", assumed.size(),
                     fmt::join(assumed, ", "));
}

void print_paragraph(const std::string& text) {
  print(reports::paragraph(text, reports::screen_of(stdout)));
}

}  // namespace spillway::cli
