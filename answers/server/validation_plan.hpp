#pragma once

#include "answers/server/devices.hpp"
#include "answers/server/raw_disks.hpp"
#include "explore/outcome/outcomes.hpp"
#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/run/run.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

/// What a validation does before anything of the scenario runs.
namespace spillway::answers {

/// Does a scenario run on this server as it is predicted?
struct ValidateQuestion {
  std::string scenario;                ///< a file
  std::vector<std::string> on;         ///< "PLACE" or "STORAGE=PLACE"
  std::vector<std::string> allow_raw;  ///< serial numbers
  std::vector<std::string> overrides;
  std::string profile, pace;  ///< machine files or their names; "": measured now, and none
  std::string device = "auto";
  bool synthetic = false;
  bool reference = true;  ///< resident training beside it, whose weights are compared
  bool strict = false;    ///< no storage through the page cache

  bool compares() const { return !synthetic && reference; }
};

/// How a validation speaks with the person who asks.
struct ValidateTalk {
  std::function<void(const std::string& text)> say;  ///< whole lines that are no part of the answer
  std::function<void(const std::string& text)> warn;  ///< of the scenario
  std::function<void()> may_start;                    ///< throws when nothing is to run
  Ask ask_serial;                                     ///< of a disk that will be overwritten
  /// Both traces as soon as the run is over; empty: nobody wants them.
  std::function<void(const result::Trace& measured, const result::Trace& predicted)> keep_traces;
};

/// A scenario on this server, and what is known before it runs.
struct ValidationPlan {
  std::vector<StoragePath> places;
  std::vector<text::Text> notes;
  std::set<std::string> buffered;  ///< storages whose transfers go through the page cache
  DeviceChoice device;
  description::MachineFile machine;
  description::Scenario scenario;  ///< resolved, its storages as large as the run needs
  std::optional<strategies::Decision> decision;  ///< of that scenario
  result::Result predicted;
  result::Trace trace;  ///< of the prediction, when one is asked for
};

/// Holds the raw disks and gives up root's rights, as which nothing else is done; reads the
/// scenario and finds everything that is wrong with it and the words; then measures this machine,
/// or reads the profile, and predicts.
///   backend  predicts
///   gates    receives those of raw disks, on `layer`, which outlives them
///   Throws   ScenarioError, DeviceError, Interrupted
ValidationPlan plan_validation(const explore::Backend& backend, const ValidateQuestion& question,
                               const ValidateTalk& talk, const hw_backend::BlockLayer& layer,
                               Gates& gates);

}  // namespace spillway::answers
