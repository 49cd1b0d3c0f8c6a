#pragma once

#include "reports/text/text.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// What a simulation says of a scenario under two versions' defaults.
struct VersionCost {
  std::uint64_t host_bytes = 0, other_host_bytes = 0;  ///< peaks
  double step_time_s = 0, other_step_time_s = 0;
};

/// A default, whether host memory is pinned, that the file leaves out and versions differ in.
struct PinningDefault {
  bool pins = false;                ///< the version that the file is read for does
  std::string other_version;        ///< one that does the other
  std::optional<VersionCost> cost;  ///< absent: one of them does not fit, or cannot be simulated
};

/// What `spillway import` answers about a configuration of DeepSpeed.
struct ImportedScenario {
  nlohmann::json scenario;                ///< as a person would write it
  std::string version;                    ///< of DeepSpeed, whose defaults it has: "0.18"
  std::optional<PinningDefault> pinning;  ///< absent: the file says whether memory is pinned
  std::vector<text::Text> notes;          ///< what was assumed and what has no effect here
};

/// What it answers about a trace.
struct ImportedProfile {
  std::string file;  ///< that was written; beside it its kernels
  std::uint64_t tensors = 0, kernels = 0;
  bool partial = false;  ///< some ranges are guesses
  std::vector<text::Text> notes;
};

/// What `spillway export` answers: a configuration of DeepSpeed for a scenario.
struct ExportedConfiguration {
  nlohmann::json ds_config;
  std::string version;            ///< import with it gives `scenario`
  nlohmann::json scenario;        ///< that comes back when the file is imported
  bool needs_nvme_path = false;   ///< DeepSpeed stops without the folder on the drives
  std::vector<text::Text> notes;  ///< what the file cannot say, and what was changed
};

// Schemas spillway/answer/import/1, import_profile/1, export/1; as in simulation.hpp.
void to_json(nlohmann::json& json, const ImportedScenario& imported);
void from_json(const nlohmann::json& json, ImportedScenario& imported);
void to_json(nlohmann::json& json, const ImportedProfile& imported);
void from_json(const nlohmann::json& json, ImportedProfile& imported);
void to_json(nlohmann::json& json, const ExportedConfiguration& exported);
void from_json(const nlohmann::json& json, ExportedConfiguration& exported);

}  // namespace spillway::answer
