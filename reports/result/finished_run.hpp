#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace spillway::result {

/// Which program trains as a scenario says.
struct RunsWith {
  std::string program;    ///< "DeepSpeed", "the authors' code of LoHan", "spillway alone"
  bool runnable = false;  ///< a maintained program: people can install it and start today
};

/// Dollars of a finished run; absent: not priced.
struct RunCosts {
  std::optional<double> box;           ///< price of the machine, whatever it trains afterwards
  std::optional<double> energy;        ///< kWh at `prices_usd.kwh`
  std::optional<double> drives;        ///< value that the drives lose, by steps and checkpoints
  std::optional<double> replacements;  ///< of `RunDrives::replaced`, whole drives
  std::optional<double> rented;        ///< GPU-hours at `prices_usd.gpu_hour`, energy included
};

/// Drives that a finished run uses up, of the storage that wears out first.
struct RunDrives {
  std::string storage;
  /// All its drives together, with checkpoints and with weights and states before the first step.
  double written_bytes = 0;
  double placed_bytes = 0;           ///< of these, once, before the first step
  std::optional<double> warranties;  ///< sets of drives whose warranty it writes through
  std::optional<double> used_up;     ///< sets of drives whose flash it wears out
  /// Drives to buy beyond those of the machine, all storages and nodes: whole ones, each once the
  /// warranty of the one before is written.
  double replaced = 0;
};

/// Checkpoints of weights and optimizer states that a finished run writes.
struct RunCheckpoints {
  double count = 0;
  double bytes = 0;    ///< of one, all nodes together
  double seconds = 0;  ///< of one; training waits for it
};

/// What training on so many tokens means (`run.tokens`).
struct FinishedRun {
  double tokens = 0, steps = 0;
  double days = 0;  ///< checkpoints included
  /// At the plug, all nodes; absent: `power` of the machine is not known.
  std::optional<double> kwh, gpu_kwh, host_kwh, ssd_kwh;
  RunCosts usd;
  std::optional<RunDrives> drives;  ///< absent: nothing is written
  RunCheckpoints checkpoints;
};

void to_json(nlohmann::json& json, const RunsWith& runs_with);
void from_json(const nlohmann::json& json, RunsWith& runs_with);
void to_json(nlohmann::json& json, const FinishedRun& run);
void from_json(const nlohmann::json& json, FinishedRun& run);

}  // namespace spillway::result
