#pragma once

#include "cli/devices.hpp"
#include "cli/raw_disks.hpp"
#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/run.hpp"

#include <string>
#include <vector>

/// What `spillway validate` does before anything of the scenario runs.
namespace spillway::cli {

/// The words of `spillway validate`.
struct ValidateOptions {
  std::string scenario;
  std::vector<std::string> on;         ///< "PLACE" or "STORAGE=PLACE"
  std::vector<std::string> allow_raw;  ///< serial numbers
  std::vector<std::string> overrides;
  std::string profile, pace, trace_file, device = "auto";
  bool json = false, synthetic = false, no_reference = false, ask = false;

  bool compares() const { return !synthetic && !no_reference; }
};

/// A scenario on this server, and what is known before it runs.
struct Plan {
  std::vector<Place> places;
  std::vector<std::string> notes;
  DeviceChoice device;
  description::MachineFile machine;
  description::Scenario scenario;  ///< resolved, its storages as large as the run needs
  strategies::Prepared prepared;
  result::Result predicted;
  result::Trace trace;  ///< of the prediction, when one is asked for
};

/// Prints what is no part of the answer where it does not disturb a program that reads the answer.
void say(const ValidateOptions& options, const std::string& text);

/// Reads the scenario and finds everything that is wrong with it, the words and the raw disks;
/// then measures this machine, or reads the profile, and predicts.
///   gates   receives those of raw disks, on `layer`, which outlives them
///   Throws  ScenarioError, DeviceError, Interrupted
Plan make_plan(const ValidateOptions& options, const hw_backend::BlockLayer& layer, Gates& gates);

}  // namespace spillway::cli
