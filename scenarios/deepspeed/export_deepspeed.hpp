#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/text/text.hpp"
#include "scenarios/deepspeed/deepspeed_version.hpp"
#include "scenarios/reading/read_scenario.hpp"

namespace spillway::scenarios {

struct ExportOptions {
  std::string deepspeed;  ///< version; "": the first, from the newest on, that comes back the same
  std::string nvme_path;  ///< folder on the drives, for what goes to NVMe
  /// Knobs that DeepSpeed does not have become its own, named in the notes; else they are errors.
  bool nearest = false;
};

struct Exported {
  nlohmann::json ds_config;
  std::vector<text::Text> notes;  ///< what the file cannot say, and what `nearest` changed
  DeepSpeedVersion version;       ///< import with it gives `scenario`
  nlohmann::json scenario;        ///< what comes back when the file is imported as told below
  /// "training.loss=fused": what its --set is told, as the file cannot say it.
  std::vector<std::string> overrides;
  bool needs_nvme_path = false;  ///< `nvme_path` is left out, and DeepSpeed stops without it
};

/// A ds_config.json for a resolved scenario, with buffer counts and sizes that hold its model. It
/// is imported again at once: it stands for the scenario if that is what comes back, byte for byte
/// and second for second.
///   Throws  ScenarioError naming every part that DeepSpeed does not have, with its own instead
Exported export_deepspeed(const description::Scenario& scenario,
                          const std::vector<SystemInfo>& systems,
                          const ExportOptions& options = {});

/// Whether its configuration asks for tensor parallelism at ZeRO stage 3, which versions before
/// DeepSpeedVersion::trains_tensor_parallel_at_stage_3 refuse.
bool shares_tensors_at_stage_3(const description::Scenario& scenario);

/// The newest DeepSpeed that has every part of the scenario: the one whose configuration
/// export_deepspeed writes without a difference; nothing where none has.
std::optional<DeepSpeedVersion> deepspeed_that_runs(const description::Scenario& scenario,
                                                    const std::vector<SystemInfo>& systems);

}  // namespace spillway::scenarios
