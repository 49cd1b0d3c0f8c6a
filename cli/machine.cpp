#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "reports/words/table.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/plausible.hpp"

#include <memory>

namespace spillway::cli {

namespace {

/// One row per value with its path; objects and arrays are walked, `sources` stay out.
void add_rows(reports::Table& table, const nlohmann::json& value, const std::string& path,
              const description::MachineFile& machine) {
  if (value.is_object() || value.is_array()) {
    for (const auto& [key, item] : value.items()) {
      if (path.empty() && key == "sources") continue;
      const bool named = value.is_array() && item.is_object() && item.contains("name");
      const std::string step = named ? item["name"].get<std::string>() : key;
      add_rows(table, item, path.empty() ? step : path + "." + step, machine);
    }
    return;
  }
  const auto source = machine.sources.find(path);
  table.rows.push_back({{path},
                        {value.is_string() ? value.get<std::string>() : value.dump()},
                        {source == machine.sources.end() ? "" : source->second}});
}

/// What every verb that uses the machine would say of it.
void refuse_implausible(const description::MachineFile& machine, const std::string& name) {
  std::vector<description::Complaint> complaints = scenarios::implausible(machine);
  for (description::Complaint& one : complaints) {
    constexpr std::string_view of_scenario = "machine.";
    if (one.path.starts_with(of_scenario)) one.path.erase(0, of_scenario.size());
    one.file = name;
  }
  if (!complaints.empty()) throw description::ScenarioError(std::move(complaints));
}

void show_machine(const std::string& name, bool json) {
  if (name.empty()) {
    for (const std::string& known : scenarios::shipped_names("scenarios/machines"))
      print(known + "\n");
    return;
  }
  const description::MachineFile machine = scenarios::read_machine(name);
  refuse_implausible(machine, name);
  const nlohmann::json whole = machine;
  if (json) return print_json(whole);
  reports::Table table;
  table.columns = {{"value of", reports::Align::left},
                   {"", reports::Align::right},
                   {"source", reports::Align::left}};
  add_rows(table, whole, "", machine);
  print(reports::to_text(table, reports::screen_of(stdout).for_keys()));
}

}  // namespace

void add_machine(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand(
      "machine",
      "a machine file with defaults filled in and sources; without a name: those shipped");
  verb->add_option("machine", *name, "shipped name or machine file");
  verb->add_flag("--json", *json, "as JSON, complete: it can be edited and used as a machine file");
  verb->footer("Example:\n  spillway machine gaming_4090");
  verb->callback([name, json] { show_machine(*name, *json); });
}

}  // namespace spillway::cli
