#include "cli/plan_common.hpp"

#include "cli/common.hpp"
#include "reports/table.hpp"
#include "scenarios/box.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/format.h>

namespace spillway::cli {

using nlohmann::json;

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
  json out = {{"words", trial.words}, {"reason", trial.reason}, {"result", nullptr}};
  if (trial.result) out["result"] = *trial.result;
  return out;
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
