#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/description/scenario.hpp"
#include "scenarios/json/located_json.hpp"
#include "strategies/rules/rule.hpp"

namespace spillway::scenarios {

/// A system of the catalogue and the parts it has when a scenario says nothing.
struct SystemInfo {
  std::string name;
  description::Strategy defaults;
};

/// One resolved value and who decided it.
struct Setting {
  std::string path;    ///< "strategy.optimizer.buffers"
  std::string value;   ///< as people write it
  std::string source;  ///< "a.json:12", "--set ...", "preset NAME", "default of SYSTEM", "default",
                       ///< the machine file's own source, or the rule that settled it
};

struct Resolved {
  description::Scenario scenario;
  std::vector<std::string> warnings;  ///< legal, but hardly meant
  /// By path, all but the model's keys, as they were read. Computed when asked: few ask.
  std::function<std::vector<Setting>()> settings;
};

/// Whether what no schedule of this version runs is wrong too, or an answer that the caller gives
/// (strategies::unsupported).
using strategies::rules::Refuse;

/// Reads and resolves the scenario in `file`, which may be the name of an example that ships:
/// `extends`, `overrides` ("path=value"), model, machine, preset and defaults.
///   Throws  ScenarioError with everything that is wrong
Resolved read_scenario(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const std::vector<SystemInfo>& systems,
                       Refuse refuse = Refuse::contradictions);

/// The same for a scenario that was parsed already (a line of `worker`, a point of `explore`).
Resolved read_scenario(const LocatedJson& scenario, const std::vector<std::string>& overrides,
                       const std::vector<SystemInfo>& systems,
                       Refuse refuse = Refuse::contradictions);
Resolved read_scenario(const nlohmann::json& scenario, const std::vector<std::string>& overrides,
                       const std::vector<SystemInfo>& systems,
                       Refuse refuse = Refuse::contradictions);

}  // namespace spillway::scenarios
