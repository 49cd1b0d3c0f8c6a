#pragma once

#include "scenarios/description/machine_file.hpp"
#include "scenarios/description/parts.hpp"
#include "scenarios/description/training.hpp"

#include <nlohmann/json.hpp>

namespace spillway::description {

/// Everything a run needs, resolved: no default is left open, no name is left unread.
struct Scenario {
  std::string name;
  std::string model_name;
  nlohmann::json model;  ///< a Hugging Face config; models/ reads it
  std::optional<Params>
      nominal_params;  ///< what a paper computes with instead of the model's count
  Training training;
  Parallel parallel;
  MachineFile machine;
  Strategy strategy;
  RunLength run;

  /// Ranks on each node in use: all of them on one node while it has enough GPUs.
  std::uint64_t node_ranks() const;
  /// Nodes that hold ranks.
  std::uint64_t nodes_in_use() const;
};

/// Complete JSON of the resolved scenario, in the form people write (it can be run again).
void to_json(nlohmann::json& json, const Scenario& scenario);

/// Each reads a schema-checked object of a scenario; keys that are absent keep the value they have.
void from_json(const nlohmann::json& json, Training& training);
void from_json(const nlohmann::json& json, Parallel& parallel);
void from_json(const nlohmann::json& json, RunLength& run);

}  // namespace spillway::description
