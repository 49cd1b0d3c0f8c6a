#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "explore/outcome/runs_with.hpp"
#include "reports/words/table.hpp"
#include "strategies/systems/catalogue.hpp"

#include <memory>

namespace spillway::cli {

namespace {

void systems(bool json) {
  nlohmann::json all = nlohmann::json::array();
  reports::Table table;
  table.columns = {{"system", reports::Align::left},
                   {"what it does", reports::Align::left},
                   {"runs with", reports::Align::left},
                   {"source", reports::Align::left}};
  for (const strategies::System& system : strategies::catalogue()) {
    const result::RunsWith runs_with = explore::runs_with(system);
    all.push_back({{"system", system.name},
                   {"runs_with", runs_with},
                   {"summary", system.summary},
                   {"source", system.source},
                   {"parts", nlohmann::json(system.defaults())},
                   {"backends", {"sim", "hw"}},
                   {"notes",
                    {"hw: decoders, with experts too, these on tensor parallel 1, run for real "
                     "(spillway validate); others with --synthetic"}}});
    table.rows.push_back({{system.name}, {system.summary}, {runs_with.program}, {system.source}});
  }
  if (json) return print_json(all);
  print(reports::to_text(table, reports::screen_of(stdout)));
}

}  // namespace

void add_systems(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb =
      app.add_subcommand("systems", "the systems that can be simulated and run for real");
  verb->add_flag("--json", *json, "with their parts and defaults, as JSON");
  verb->footer("Example:\n  spillway systems --json");
  verb->callback([json] { systems(*json); });
}

}  // namespace spillway::cli
