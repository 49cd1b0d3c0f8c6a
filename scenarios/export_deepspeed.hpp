#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/description/scenario.hpp"

namespace spillway::scenarios {

struct Exported {
  nlohmann::json ds_config;
  std::vector<std::string> notes;  ///< parts of the scenario that DeepSpeed does not have
};

/// A ds_config.json for a resolved scenario, with buffer counts and sizes that hold its model.
///   Throws  ScenarioError naming every part that DeepSpeed cannot run at all
Exported export_deepspeed(const description::Scenario& scenario);

}  // namespace spillway::scenarios
